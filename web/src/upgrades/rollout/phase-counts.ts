import { type Report, isRunning } from '../upgrade.ts'
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

const UNDER_WAY = new Set(['download_requested', 'downloading', 'downloaded', 'reboot_in_progress', 'rebooted'])

/** Counts the devices of each phase; the parts sum to the total. */
export function countPhases({
  phases,
  devices,
  status,
}: Pick<Report, 'phases' | 'devices' | 'status'>): readonly PhaseCounts[] {
  const open = (isRunning(status) ? openPhaseOf({ phases }) : lastOpenedOf(phases)) ?? 0
  const byPhase = Map.groupBy(devices, ({ phase }) => phase)
  return phases.map(({ phase, total, upgraded, failed, opened_at: openedAt, ended_at: endedAt }) => {
    const own = byPhase.get(phase) ?? []
    const underWay = own.filter((device) => UNDER_WAY.has(device.status)).length
    const cancelled = own.filter((device) => device.status === 'cancelled').length
    const over = endedAt !== undefined || !isRunning(status)
    return {
      phase,
      total,
      upgraded,
      failed,
      underWay,
      cancelled,
      waiting: Math.max(0, total - upgraded - failed - underWay - cancelled),
      openedAt: openedAt ?? null,
      endedAt: endedAt ?? null,
      state: phase > open && !(over && failed > 0) ? (over ? 'closed' : 'ahead') : over ? 'ended' : 'open',
    }
  })
}
