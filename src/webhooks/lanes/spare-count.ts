import type { WebhookLimits } from '../limits/limits.ts'

/**
 * How many messages fewer a held lane has than its row counts. A row that changed with every message would leave a version
 * each time, and while a transaction is open, each look-up of the lane reads them all. So messages that are deleted are
 * still counted, messages that are added instead of them leave the count as it is, and a row of a lane that falls behind
 * counts some messages before they are added.
 */
export interface SpareCount {
  /** Takes up to `wanted` for as many messages that are added without changing the row. @returns How many. */
  take(wanted: number): number
  /** Adds messages that were deleted without changing the row, or what was taken and not used. */
  add(messages: number): void
  /** True if the row may count this many deleted messages in addition. */
  fits(messages: number): boolean
  /** False if the row counts a message too many. */
  isZero(): boolean
  /** How many messages more than are added the row may count, if it has to change because nothing is left to take. */
  readonly ahead: number
}

/** A lane has fewer messages in memory, so the count of one in steady use need not be corrected. */
const MAX_SPARE = 200
/** The parts of the limits of waiting messages by which they may apply early: all lanes of an organization share its limit. */
const PART_OF_WEBHOOK = 0.01
const PART_OF_ORG = 0.0002
/** The part for messages that are counted before they are added. The rest is for those that are deleted. */
const PART_AHEAD = 0.25

/** Returns how many messages too many the row of a lane may count; none if the limits are small. */
export function maxSpareOf({ pendingPerWebhook, pendingPerOrg }: WebhookLimits): number {
  return Math.floor(Math.min(MAX_SPARE, pendingPerWebhook * PART_OF_WEBHOOK, pendingPerOrg * PART_OF_ORG))
}

export function createSpareCount(maxSpare: number): SpareCount {
  let spare = 0
  const ahead = Math.floor(maxSpare * PART_AHEAD)
  return {
    ahead,
    take(wanted) {
      const taken = Math.min(wanted, spare)
      spare -= taken
      return taken
    },
    add(messages) {
      spare += messages
    },
    isZero: () => spare === 0,
    fits: (messages) => spare + messages <= maxSpare - ahead,
  }
}
