import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { webhookTopics } from './topics.ts'
import { WebhookTopicsReply, presentTopic } from './wire.ts'

/** Lists the topics for subscriptions. Source: contract, Constants Definitions. */
export const webhookConstRoutes: FastifyPluginAsyncTypebox = async (http) => {
  http.get(
    '/const/webhook_topics',
    { schema: { operationId: 'listWebhookTopics', tags: ['Constants'], response: { 200: WebhookTopicsReply } } },
    async (_request, reply) => reply.send(webhookTopics.map(presentTopic)),
  )
}
