import { type Report, isRunning } from './upgrade.ts'
import { lastOpenedOf, openPhaseOf } from './verdict.ts'

/** A phase with the number of its devices in each state. */
export interface PhaseCounts {
  readonly phase: number
  readonly total: number
  readonly upgraded: number
  readonly failed: number
  readonly underWay: number
  readonly cancelled: number
  /** Waiting or skipped. */
  readonly waiting: number
  readonly openedAt: number | null
  readonly endedAt: number | null
  /** `closed`: it never opened, and never will. */
  readonly state: 'ended' | 'open' | 'ahead' | 'closed'
}

/** Counts the devices of each phase; the parts sum to the total. */
export function countPhases({ phases, status }: Pick<Report, 'phases' | 'status'>): readonly PhaseCounts[] {
  const open = (isRunning(status) ? openPhaseOf({ phases }) : lastOpenedOf(phases)) ?? 0
  return phases.map(({ opened_at: openedAt, ended_at: endedAt, ...counts }) => {
    const { phase, total, upgraded, failed, under_way: underWay, cancelled } = counts
    const over = endedAt !== undefined || !isRunning(status)
    return {
      phase,
      total,
      upgraded,
      failed,
      underWay,
      cancelled,
      waiting: total - upgraded - failed - underWay - cancelled,
      openedAt: openedAt ?? null,
      endedAt: endedAt ?? null,
      state: phase > open && !(over && failed > 0) ? (over ? 'closed' : 'ahead') : over ? 'ended' : 'open',
    }
  })
}
