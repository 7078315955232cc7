import { Type } from 'typebox'
import { type Topic, topics } from '../../events/topics.ts'
import { NAME } from '../schemas.ts'
import { type Components, type Published, publishSchema } from './publish-schema.ts'
import { keysOf } from '../../platform/records.ts'

/**
 * Returns the requests that receivers of webhooks get, by topic.
 * @param schemas Receives the schemas of messages and events, such as `WebhookAudits` and `WebhookAuditsEvent`.
 */
export function publishWebhooks(schemas: Components): Published {
  const keys = keysOf(topics).toSorted()
  return Object.fromEntries(keys.map((key) => [key, { post: publishMessage(key, schemas) }]))
}

function publishMessage(topic: Topic, schemas: Components): Published {
  const name = `Webhook${pascalCase(topic)}`
  const events = Type.Array({ ...topics[topic].event, [NAME]: `${name}Event` }, { minItems: 1 })
  const message = { ...Type.Object({ topic: Type.Literal(topic), events }), [NAME]: name }
  return {
    operationId: `receive${pascalCase(topic)}`,
    summary: `Receive events of the topic ${topic}`,
    description:
      'Any status from 200 to 299 takes the message. It is sent again after any other, but 410 disables the webhook.',
    security: [],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: publishSchema(message, schemas) } },
    },
    responses: { 200: { description: 'Taken' } },
  }
}

function pascalCase(topic: string): string {
  return topic
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
