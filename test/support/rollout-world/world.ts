import type { MaintenanceWindow } from '../../../src/orgs/windows/windows.ts'
import { noCounts } from '../../../src/rollout/rollout.ts'
import type { SiteUpgradeChange, SiteUpgradeNow } from '../../../src/rollout/site-upgrade-now.ts'
import type { DeviceNow, TargetNow } from '../../../src/rollout/targets/target.ts'
import { planned, running } from '../fleets/targets.ts'
import { type Fate, type Simulated, start } from './simulated.ts'

/** The upgrade of a site, with its devices. */
export interface World {
  siteUpgrade: Omit<SiteUpgradeNow, 'targets'> & Pick<SiteUpgradeChange, 'dueMs' | 'finishedAt'>
  readonly fleet: Simulated[]
  now: Date
}

export interface WorldOptions {
  /** True if the device with this fate, at that position of its phase, downloads separately from its reboot. */
  readonly stages?: (fate: Fate, place: number) => boolean
  /** Seconds after the start. */
  readonly rebootS?: number
  /** When the upgrade starts, in seconds after the first round. */
  readonly startS?: number
  /** Devices can be restored, and failed ones are. */
  readonly rollback?: boolean
  /** The rank of the device at that place of its phase. Missing: restarts have no order. */
  readonly rank?: ((place: number) => number) | undefined
  /** The phase, from 1 to 3, of the download of the device at that place of its phase. Missing: they have none. */
  readonly downloadPhase?: (place: number) => number
  /** Devices that download and reboot in one step are in phases of the downloads too. */
  readonly oneStepDownloads?: boolean
  /** The share of upgraded devices that each gate requires. */
  readonly successPercent?: number | undefined
  /** In UTC; the world begins at midnight. Missing: devices begin at any time. */
  readonly windows?: readonly MaintenanceWindow[] | undefined
  /** When the upgrade ends, in seconds after the first round. Missing: never. */
  readonly endS?: number | undefined
}

const DOWNLOAD_PHASES = 3

export function createWorld(
  fatesByPhase: readonly (readonly Fate[])[],
  maxFailurePercentage: number,
  { stages = () => false, rebootS = 0, startS = 0, rollback = false, downloadPhase, rank, ...more }: WorldOptions = {},
): World {
  const fleet = fatesByPhase.flatMap((phase, index) =>
    phase.map((fate, place): Simulated => {
      const device: DeviceNow = {
        type: 'ap',
        link: fate !== 'absent' && fate !== 'comes_late' ? 'connected' : 'absent',
        connectedMs: 0,
        disconnectedMs: null,
        firmware: '1.0',
        bootCount: 1,
        bootedAt: start,
        isBootKnown: true,
        memberFirmware: [],
        commands: [
          ...(stages(fate, place) ? (['stage', 'activate'] as const) : (['upgrade'] as const)),
          ...(rollback ? (['restore_backup'] as const) : []),
        ],
        repeatable: [],
        backupVersion: null,
      }
      const name = `${index}-${place}`
      const own = ((stages(fate, place) || more.oneStepDownloads === true) && downloadPhase?.(place)) || null
      const target: TargetNow = {
        ...planned,
        deviceId: name,
        phase: index + 1,
        downloadPhase: own,
        rank: rank?.(place) ?? null,
        enteredMs: 0,
        device,
      }
      const nothing = {
        reason: null,
        command: null,
        download: null,
        willFlash: false,
        flashed: 0,
        restored: 0,
        goneMs: 0,
      }
      return { fate, stages: stages(fate, place), target, device, ...nothing }
    }),
  )
  const gate = {
    max_failures: null,
    max_failure_percentage: maxFailurePercentage,
    min_upgraded: 1,
    ...(more.successPercent !== undefined && { min_success_percentage: more.successPercent }),
  }
  const inDownloadPhase = (phase: number): number => fleet.filter((one) => one.target.downloadPhase === phase).length
  const downloadSizes = Array.from({ length: DOWNLOAD_PHASES }, (_, index) => inDownloadPhase(index + 1))
  const isApart = downloadSizes.some((size) => size > 0)
  const downloads = {
    strategy: 'canary',
    scope: 'site' as const,
    phase_sizes: downloadSizes,
    gates: downloadSizes.map(() => gate),
  }
  const plan = {
    ...(isApart && { downloads }),
    ...(rollback && { rollback }),
    ...(rank !== undefined && { ranked: true as const }),
    strategy: 'canary' as const,
    phase_scope: 'site' as const,
    phases: fatesByPhase.length,
    phase_sizes: fatesByPhase.map((phase) => phase.length),
    gates: fatesByPhase.map(() => gate),
    max_failure_percentage: maxFailurePercentage,
    stages: fleet.some((one) => one.stages),
    planned: fleet.length,
    timezone: 'UTC',
    ...(more.windows !== undefined && { windows: more.windows }),
    ...(more.endS !== undefined && { ends_s: start.getTime() / 1000 + more.endS }),
  }
  const siteUpgrade: World['siteUpgrade'] = {
    ...running,
    status: 'queued',
    startAt: new Date(start.getTime() + startS * 1000),
    rebootAt: new Date(start.getTime() + (startS + rebootS) * 1000),
    plan,
    phaseOpenedMs: null,
    counts: { ...noCounts, planned: fleet.length },
    downloads: isApart ? { current: 1, gate_passed: 0, failures: {}, downloaded: {} } : null,
    dueMs: 0,
    finishedAt: null,
  }
  return { siteUpgrade, fleet, now: start }
}
