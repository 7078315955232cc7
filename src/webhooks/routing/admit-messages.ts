import type { OrgRoom } from '../limits/plan-org-room.ts'
import type { PlannedMessage } from './planning/plan-messages.ts'

/** The limits for the new messages of a webhook, in addition to its own one. */
export interface WebhookRoom {
  /** How many of them get room that the webhooks of its organization share. */
  readonly shared: number
  /** As many may wait for it in any case, so that it accepts more if fewer do. */
  readonly perWebhook: number
}

export interface Admitted {
  /** Messages that have room, or may have it: that depends on how many wait for their webhook. */
  readonly messages: readonly PlannedMessage[]
  readonly dropped: readonly PlannedMessage[]
  /** The rooms of the webhooks of all these messages. */
  readonly rooms: ReadonlyMap<string, WebhookRoom>
}

export const noRoom: OrgRoom & WebhookRoom = { shared: 0, perWebhook: 0 }

/** Gives the first messages of each organization the room that its webhooks share. */
export function admitMessages(
  planned: readonly PlannedMessage[],
  roomOf: (orgId: string) => OrgRoom | undefined,
): Admitted {
  const counts = new Map<string, number>()
  const places = new Map<string, number>()
  const rooms = new Map<string, WebhookRoom>()
  const [messages, dropped]: [PlannedMessage[], PlannedMessage[]] = [[], []]
  for (const message of planned) {
    const { orgId, webhookId } = message
    const { shared, perWebhook } = roomOf(orgId) ?? noRoom
    const isShared = countOneMore(counts, orgId) <= shared
    const place = countOneMore(places, webhookId)
    if (isShared) rooms.set(webhookId, { shared: place, perWebhook })
    else if (!rooms.has(webhookId)) rooms.set(webhookId, { shared: 0, perWebhook })
    const mayFit = place <= (rooms.get(webhookId)?.shared ?? 0) + perWebhook
    ;(mayFit ? messages : dropped).push(message)
  }
  return { messages, dropped, rooms }
}

/** @returns The number after it. */
function countOneMore(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  return count
}
