import { counted, grouped } from '../../display/texts/counted.ts'
import { type Report, type Upgrade, isRunning } from '../upgrade.ts'
import type { State } from '../verdict.ts'

const RECENT_MINUTES = 10

/** Whether failures become more or fewer. */
export interface FailurePace {
  readonly text: string
  /** When the last device failed, in epoch seconds. */
  readonly lastAt: number
}

/** Returns how many devices have failed lately, and before that; null if none has, or nothing can fail any more. */
export function failurePaceOf(
  { status, devices }: Pick<Report, 'status' | 'devices'>,
  unit: string,
  nowS: number,
): FailurePace | null {
  const times = devices.flatMap((device) => (device.status === 'failed' ? (device.ended_at ?? []) : []))
  if (!isRunning(status) || times.length === 0) return null
  const since = (minutes: number): number => times.filter((at) => at > nowS - 60 * minutes).length
  const recent = since(RECENT_MINUTES)
  const before = since(2 * RECENT_MINUTES) - recent
  return {
    text: `${counted(recent, `${unit} failed`, `${unit}s failed`)} in the last ${RECENT_MINUTES} minutes, and ${grouped(before)} in the ${RECENT_MINUTES} minutes before`,
    lastAt: times.reduce((last, at) => Math.max(last, at)),
  }
}

/** Sites at which an upgrade waits for a maintenance window. */
export interface WindowsAhead {
  /** Its end leads to the time. */
  readonly text: string
  readonly firstSiteId: string
  /** When the first window opens, in epoch seconds. */
  readonly firstAt: number
}

/** Returns how many sites wait for a window, and the first to open; null if none does, or if all wait for a person or a check. */
export function windowsAheadOf(
  { hold, stopReason }: Pick<State, 'hold' | 'stopReason'>,
  { upgrades }: Upgrade,
): WindowsAhead | null {
  if (hold !== null || stopReason !== null) return null
  const waiting = upgrades.flatMap(({ site_id: siteId, upgrade: { waits_until: at } }) =>
    at === undefined ? [] : [{ siteId, at }],
  )
  const [first] = waiting.toSorted((one, other) => one.at - other.at)
  if (first === undefined) return null
  const text = counted(
    waiting.length,
    'site waits for its maintenance window, which opens',
    'sites wait for their maintenance windows; the first opens',
  )
  return { text, firstSiteId: first.siteId, firstAt: first.at }
}
