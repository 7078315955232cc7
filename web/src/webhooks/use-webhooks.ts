import { useQuery } from '@tanstack/react-query'
import { answerOf, useServer } from '../api/client.ts'
import { webhookCalls } from './webhook-calls.ts'
import type { WebhookPlace } from './webhook.ts'

/** The interval of polling, because the stream does not report deliveries. */
export const REFRESH_MS = 5000

export function useWebhookCalls(place: WebhookPlace) {
  return webhookCalls(useServer().api, place)
}

export function useWebhook(place: WebhookPlace, id: string) {
  const calls = useWebhookCalls(place)
  return useQuery({ queryKey: ['webhook', place, id], queryFn: () => calls.get(id) })
}

export function useWebhookHealth(place: WebhookPlace, id: string, refetchInterval = REFRESH_MS) {
  const calls = useWebhookCalls(place)
  return useQuery({ queryKey: ['webhook health', place, id], queryFn: () => calls.health(id), refetchInterval })
}

/** The topics that webhooks can subscribe to. */
export function useTopics() {
  const { api } = useServer()
  return useQuery({
    queryKey: ['webhook topics'],
    queryFn: () => answerOf(api.GET('/api/v1/const/webhook_topics')),
    staleTime: Infinity,
  })
}
