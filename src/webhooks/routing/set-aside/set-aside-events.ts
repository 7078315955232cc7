import { systemScopeOf } from '../../../access/scope.ts'
import { appendSystemEvent } from '../../../events/append-system.ts'
import { type SetAsideEvent, setAsideEvents } from '../../../events/store-outbox.ts'
import type { Tx } from '../../../platform/database/db.ts'

/**
 * Sets events aside. The organization or site of an event learns of it once a day for each topic; the operator sees
 * each event. It names no webhook, because all that subscribe to the event lack it.
 */
export async function setAsideAndReport(
  tx: Tx,
  ids: readonly string[],
  options: Parameters<typeof setAsideEvents>[2],
): Promise<SetAsideEvent[]> {
  const events = await setAsideEvents(tx, ids, options)
  const { at } = options
  for (const { orgId, siteId, topic } of events) {
    const day = at.toISOString().slice(0, 10)
    const once = siteId === null ? `${topic} ${day}` : `${topic} ${siteId} ${day}`
    const text = `An event of the topic ${topic} could not be sent to webhooks; the operator can send it later`
    const event = { type: 'WEBHOOK_EVENT_SET_ASIDE', siteId, once, text } as const
    await appendSystemEvent(tx, systemScopeOf('webhooks', { orgId, siteId }), event, at)
  }
  return events
}
