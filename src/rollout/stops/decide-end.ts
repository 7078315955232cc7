import { AppError } from '../../platform/errors.ts'
import { epochS } from '../../platform/time/clock.ts'

/** The plan of an upgrade, or of its part at a site. */
interface Ending {
  /** Epoch seconds. */
  readonly ends_s?: number
}

/** Returns when an upgrade ends by itself; null: never. */
export function endOf({ ends_s: endsS }: Ending): Date | null {
  return endsS === undefined ? null : new Date(1000 * endsS)
}

export function hasEnded({ ends_s: endsS }: Ending, now: Date): boolean {
  return endsS !== undefined && endsS <= epochS(now)
}

/** Returns why an upgrade stops at its end. */
export function endReason(endsAt: Date): string {
  return `ended at its end_time, ${endsAt.toISOString()}`
}

/** @throws AppError invalid for a retry after the end of an upgrade. */
export function refuseRetryAtEnd(plan: Ending, now: Date): void {
  const endsAt = endOf(plan)
  if (endsAt !== null && endsAt <= now)
    throw new AppError('invalid', `The upgrade can't be retried: its end_time, ${endsAt.toISOString()}, is over`)
}
