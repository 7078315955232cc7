import { type Hold, type Report, type Upgrade, isRunning } from '../upgrade.ts'

interface Running {
  readonly report: Pick<Report, 'phases' | 'status' | 'end_time'>
  readonly hold: Hold | null
  readonly stopReason: string | null
  readonly sites: readonly { readonly upgrade: Pick<Upgrade['upgrades'][number]['upgrade'], 'waits_until'> }[]
}

/**
 * Estimates when an upgrade ends: the phases to come take as long as those that have ended took on average, because the
 * devices of a phase are upgraded at the same time. A phase that takes longer counts with what it has taken. The times of
 * gates and the end time count too.
 * @returns Epoch seconds; null while there is nothing to judge by, while the upgrade waits for somebody or, at a site, for a
 *   maintenance window, and once it has been stopped.
 */
export function estimateEnd(
  { report: { phases, status, end_time: endTime = Infinity }, hold, stopReason, sites }: Running,
  nowS: number,
): number | null {
  if (!isRunning(status) || hold !== null || stopReason !== null) return null
  if (sites.some(({ upgrade }) => upgrade.waits_until !== undefined)) return null
  const full = phases.filter(({ total }) => total > 0)
  const durations = full.flatMap(({ duration }) => duration ?? [])
  const open = full.find(
    ({ opened_at: openedAt, ended_at: endedAt }) => openedAt !== undefined && endedAt === undefined,
  )
  if (durations.length === 0 || open?.opened_at === undefined) return null
  const mean = durations.reduce((sum, duration) => sum + duration, 0) / durations.length
  const first = Math.max(nowS, open.opened_at + mean)
  const end = phases.reduce(
    (before, { opened_at: openedAt, total, phase }, index) =>
      openedAt !== undefined || phase < open.phase
        ? before
        : earliestAfter(before, phases[index - 1]) + (total > 0 ? mean : 0),
    first,
  )
  return Math.min(end, endTime)
}

/** Returns when the next phase may open, if a phase ends at a time. */
function earliestAfter(endS: number, phase: Report['phases'][number] | undefined): number {
  const { minutes = 0, not_before: notBefore = 0 } = phase?.gate ?? {}
  return Math.max(phase?.total === 0 ? endS : endS + 60 * minutes, notBefore)
}
