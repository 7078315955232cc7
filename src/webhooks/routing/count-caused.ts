import type { RoutedEvent } from './planning/plan-messages.ts'

/** Fewer messages cost about as much as the change itself, which is counted already. */
const MANY_MESSAGES = 8

/**
 * Counts the messages that the changes of each account cause, so that its next changes can wait for them. Only records of
 * changes name who caused them.
 * @returns By the person, or the organization whose token it was.
 */
export function countCaused(
  events: readonly Pick<RoutedEvent, 'orgId' | 'topic' | 'json' | 'recipients'>[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { orgId, topic, json, recipients } of events) {
    if (topic !== 'audits' || recipients.length < MANY_MESSAGES) continue
    const { admin_id: adminId } = JSON.parse(json) as { readonly admin_id?: string | null }
    const account = adminId ?? orgId
    counts.set(account, (counts.get(account) ?? 0) + recipients.length)
  }
  return counts
}
