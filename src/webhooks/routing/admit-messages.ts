import type { PlannedMessage } from './planning/plan-messages.ts'

export interface Admitted {
  readonly messages: readonly PlannedMessage[]
  /** Messages that their organization has no room for. */
  readonly dropped: readonly PlannedMessage[]
}

/**
 * Divides messages into those that their organization has room for, the first ones, and the others.
 * @param roomOf How many more messages may wait for an organization.
 */
export function admitMessages(planned: readonly PlannedMessage[], roomOf: (orgId: string) => number): Admitted {
  const counts = new Map<string, number>()
  const [messages, dropped]: [PlannedMessage[], PlannedMessage[]] = [[], []]
  for (const message of planned) {
    const count = (counts.get(message.orgId) ?? 0) + 1
    counts.set(message.orgId, count)
    const fits = count <= roomOf(message.orgId)
    ;(fits ? messages : dropped).push(message)
  }
  return { messages, dropped }
}
