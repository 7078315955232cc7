import type { LossReason } from '../../devices/commands/command.ts'
import type { CommandKind, CommandState } from '../../devices/tables.ts'
import type { DeviceType } from '../../events/device-type.ts'
import type { RolloutOptions, TargetState, UpgradeHop, UpgradePart } from '../rollout.ts'
import type { DeviceHealth } from '../tables.ts'

export type { DeviceHealth } from '../tables.ts'

/**
 * The connection of a device. `expected`: the service has restarted or lost its connections, and the device has not
 * come back yet; for a while it does not count as disconnected, and it can't be commanded.
 */
export type DeviceLink = 'connected' | 'expected' | 'absent'

/**
 * @param up The connection state that the interface shows: a device whose session was lost counts as connected until it
 *   has been away for a while.
 * @param heard A session is open.
 */
export function linkOf(up: boolean, heard: boolean): DeviceLink {
  if (heard) return 'connected'
  return up ? 'expected' : 'absent'
}

/** The present facts about the device. Times in `...Ms` are service time here and below. */
export interface DeviceNow {
  readonly type: DeviceType
  readonly link: DeviceLink
  /** When its connection was opened; null without one. */
  readonly connectedMs: number | null
  /** The time at which the previous connection, or the last one, was lost; null if it was not noticed. */
  readonly disconnectedMs: number | null
  readonly firmware: string | null
  readonly bootCount: number
  readonly bootedAt: Date | null
  /** It has shown since it connected whether it had booted before. */
  readonly isBootKnown: boolean
  /** For each member of a Virtual Chassis; empty for any other device. */
  readonly memberFirmware: readonly string[]
  /** The commands that its driver supports. */
  readonly commands: readonly CommandKind[]
  /** The version that a restore boots; null: the device has not reported it. */
  readonly backupVersion: string | null
  /** The commands that may be repeated once the device is back: see DeviceCapabilities. */
  readonly repeatable: readonly CommandKind[]
}

/**
 * `upgrade` downloads, installs and reboots; `stage` downloads; `activate` installs the staged image, and reboots;
 * `snapshot` copies the then running version to the recovery system; `restore_backup` boots the former version.
 */
export type UpgradeOrder = Extract<CommandKind, 'upgrade' | 'stage' | 'activate' | 'snapshot' | 'restore_backup'>

/** The target's latest command. */
export interface CommandNow {
  readonly id: string
  readonly kind: UpgradeOrder
  readonly state: CommandState
  /** Why it was refused, in the device's words. */
  readonly refusal: string | null
  /** The device refused the content of the request, so a further attempt would be refused as well. */
  readonly refusalIsFinal: boolean
  /** The device was still executing an earlier command. */
  readonly refusalIsBusy: boolean
  /** Why its outcome is unknown. */
  readonly loss: LossReason | null
  /** The device is back since, and no longer executes it: what it has not changed yet, it never will. */
  readonly isIdle: boolean
  /** Why its outcome was unknown until the device reported it. */
  readonly lost: LossReason | null
  /**
   * True if the device has requested the reboot, or was about to. Always false for drivers that don't report their
   * steps.
   */
  readonly mayReboot: boolean
  readonly sentAt: Date | null
}

/** The download of that command. */
export interface DownloadNow {
  readonly bytesServed: number
  readonly touchedMs: number
  readonly delivered: boolean
  readonly fenced: boolean
}

export interface TargetNow {
  readonly deviceId: string
  readonly phase: number
  /** The phase of its download; null: it downloads when `phase` opens. */
  readonly downloadPhase: number | null
  /** Its position in the order of restarts of its site; null: there is no order. */
  readonly rank: number | null
  readonly state: TargetState
  readonly enteredMs: number
  readonly fromVersion: string | null
  readonly targetVersion: string
  /** Further strings by which devices report the target version. In `device` they are replaced by that version. */
  readonly reported: readonly string[]
  readonly imageId: string
  /** The versions that it installs in turn; null: it gets `targetVersion` directly. */
  readonly path: readonly UpgradeHop[] | null
  readonly force: boolean
  readonly attempt: number
  /** Attempts that the device refused or failed. */
  readonly failedAttempts: number
  /**
   * Attempts that ended with the device's connection, without effect, or because the server had no room for the download,
   * and don't count as failed. Those that the service interrupted are not included.
   */
  readonly lostAttempts: number
  /** The latest attempt had no effect; the next one goes out no earlier than this. */
  readonly retryAtMs: number | null
  /** The image of an earlier attempt has reached the device, and it has installed it or was about to; see installingStates. */
  readonly fetched: boolean
  /** The device has the image, and `activate` would install it. */
  readonly staged: boolean
  /** The device's boot count when the latest command was created. */
  readonly bootCount: number | null
  /** Null once the device has left the organization. */
  readonly device: DeviceNow | null
  readonly command: CommandNow | null
  readonly download: DownloadNow | null
  /** Why the image can't, or must not, be installed on the version that the device runs now. Absent: it may. */
  readonly unfit?: string | undefined
  /** Absent: its health is not compared, or not yet. */
  readonly health?: HealthNow | undefined
}

type Attempts = Pick<TargetNow, 'failedAttempts' | 'lostAttempts'>

export type TargetDecision =
  /** `untilMs`: nothing changes before, unless the device acts. */
  | { readonly kind: 'wait'; readonly untilMs?: number; readonly for?: 'window' }
  | {
      readonly kind: 'move'
      readonly to: TargetState
      readonly reason?: string
      readonly failedAttempts?: number
      readonly lostAttempts?: number
      readonly retryAtMs?: number
      /** Default: as before. */
      readonly staged?: boolean
      /** The version that is installed next. Absent: as before. */
      readonly hop?: UpgradeHop
    }
  /** The attempt had no effect. The state stays, and the next attempt waits. */
  | (Attempts & {
      readonly kind: 'pause'
      readonly reason: string
      readonly retryAtMs: number
      /** Default: as before. */
      readonly staged?: boolean
    })
  /** A new command goes out. */
  | (Attempts & { readonly kind: 'command'; readonly order: UpgradeOrder; readonly reason?: string })
  /** Withdraws the command, which is still queued; it may just be leaving, so another decision follows. */
  | { readonly kind: 'withdraw'; readonly commandId: string }
  /** Makes sure that the lost command can't flash any more, or finds that it may; another decision follows. */
  | { readonly kind: 'fence'; readonly commandId: string; readonly imageId: string }

export interface TargetRules {
  readonly nowMs: number
  /** On the wall clock, to compare with the timestamps of devices and commands. */
  readonly now: Date
  readonly options: RolloutOptions
  /** The only requested part; null: the whole upgrade. */
  readonly only: UpgradePart | null
  /** Devices that are worse off with the version return to their backup version. */
  readonly rollback: boolean
  /** Upgraded devices take a recovery snapshot. */
  readonly snapshot: boolean
  /** The device may not be commanded to reboot before this time. Infinite: the phase of its reboot is not open. */
  readonly rebootMs: number
  /** When the phase was opened that the upgrade is in, without the time of pauses; null: none is. */
  readonly openedMs: number | null
  /** False: the phase of its download is not open. */
  readonly mayDownload: boolean
  /**
   * Returns the first time, from now on, at which a device that needs `needMs` may begin so that it ends within a
   * maintenance window; null: no window is long enough.
   */
  readonly beginMs: (needMs: number) => number | null
  /** No new command is sent; attempts in flight may end. */
  readonly stopping: boolean
  /** The same, until a person resumes the upgrade. */
  readonly held: boolean
  /** The time after which the upgrade gives up absent devices. Null: not set yet. */
  readonly offlineDeadlineMs: number | null
  /** The time until which absent devices may still be reconnecting, for example after a restart of the service. */
  readonly graceUntilMs: number
  /** When the server last turned a client away because it had no room for it; null: not since its start. */
  readonly crowdedMs: number | null
}

/** The health of a device before its upgrade and now. */
export interface HealthNow {
  /** Null: the device had not reported in the hour before. Nothing is compared then. */
  readonly baseline: DeviceHealth | null
  /** Its last report; null: it has sent none over its present connection. */
  readonly latest: { readonly reportedMs: number; readonly health: DeviceHealth } | null
}
