import { findOpening } from '../../orgs/windows/windows.ts'
import { invalidField } from '../../platform/errors.ts'
import { leastOf } from '../../platform/extremes.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import type { SiteTimes } from './plan-times.ts'

type Times = Pick<SiteTimes, 'rebootAt' | 'timezone' | 'windows'>

interface RequestedEnd extends Pick<UpgradeRequest, 'endsAt' | 'notBefore'> {
  /** What is upgraded. Default: devices. */
  readonly units?: string
}

/**
 * @param sites The times of each site.
 * @param now When they would begin at a site that is not among them.
 * @throws AppError invalid for an end before devices may reboot at any site, and for a phase that would begin after it.
 */
export function refuseEnd(
  { endsAt, notBefore, units = 'devices' }: RequestedEnd,
  sites: readonly Times[],
  now: Date,
): void {
  if (endsAt === null) return
  const first = new Date(sites.length === 0 ? now : leastOf(sites.map(beginMsOf)))
  if (endsAt <= first)
    throw invalidField(
      'end_time',
      `is ${endsAt.toISOString()}, but ${units} begin at ${first.toISOString()} at the earliest`,
    )
  for (const { field, time } of notBefore)
    if (time.kind === 'instant' && time.at >= endsAt)
      throw invalidField(field, `is ${time.at.toISOString()}, but end_time is ${endsAt.toISOString()}`)
}

function beginMsOf({ rebootAt, timezone, windows }: Times): number {
  const fromMs = rebootAt.getTime()
  return windows.length === 0 ? fromMs : (findOpening(windows, timezone, { fromMs, needMs: 0 }) ?? fromMs)
}

/** Says that a plan probably does not end in time. */
export function noteEnd(endsAt: Date | null, endsAbout: Date | null, units = 'devices'): UpgradeNote[] {
  if (endsAt === null || endsAbout === null || endsAbout <= endsAt) return []
  const until = endsAt.toISOString()
  return [
    {
      reason: `The upgrade may take longer than until its end_time, ${until}: ${units} that have not begun by then are left`,
    },
  ]
}
