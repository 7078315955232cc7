/** How many messages may wait for the webhooks of an organization in addition to those that wait. */
export interface OrgRoom {
  /** The number of messages that they may add together. */
  readonly shared: number
  /** As many messages may wait for each of them, whatever waits for the others; they do not count for `shared`. */
  readonly perWebhook: number
}

/** The part of the limit of an organization that its webhooks divide equally. */
const DIVIDED = 0.25

/**
 * Divides a part of the limit of an organization equally among its webhooks, so that those whose receivers are down do not use
 * up the room of the others. The rest is for any of them.
 * @param pending The number of messages that wait for each webhook.
 */
export function planOrgRoom(limit: number, pending: readonly number[]): OrgRoom {
  const perWebhook = Math.floor((limit * DIVIDED) / Math.max(pending.length, 1))
  const taken = pending.reduce((sum, messages) => sum + Math.max(messages, perWebhook), 0)
  return { shared: Math.max(limit - taken, 0), perWebhook }
}
