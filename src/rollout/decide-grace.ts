import type { JobDecision } from './decide-next.ts'

/** Failures that an outage of the site's network causes as well as a broken device. */
const reasonsOfAbsence: ReadonlySet<string | null> = new Set(['no_reconnect', 'unstable'])
/** So many other devices of a site must have gone, and so large a share of them, for it to be the network. */
const MIN_MOVED = 3
const MIN_SHARE = 0.3

/** Since when the targets that a round would fail for their absence have been waited for; null: it fails none so. */
export function findAbsentSinceMs({ steps }: JobDecision): number | null {
  const absent = steps.filter(({ to, reason }) => to === 'failed' && reasonsOfAbsence.has(reason))
  return absent.length === 0 ? null : Math.min(...absent.map(({ target }) => target.enteredMs))
}

/** The devices of a site that its upgrade has not commanded. */
export interface Bystanders {
  readonly total: number
  /** They lost their connection in the time in question, and are away still or have just come back. */
  readonly moved: number
}

/** Whether so many devices lost their connections that the site's network is to blame, not the devices. */
export function isDisturbed({ total, moved }: Bystanders): boolean {
  return moved >= MIN_MOVED && moved >= MIN_SHARE * total
}
