import type { DeviceType } from '../../events/device-type.ts'
import type { CommandKind, CommandState, DeviceCapabilities } from '../tables.ts'

/** Every kind of command. */
export const commandKinds = [
  'restart',
  'upgrade',
  'stage',
  'activate',
  'locate',
  'unlocate',
  'ping',
  'support',
  'restore_backup',
  'snapshot',
] as const satisfies readonly CommandKind[]

export const commandStates = [
  'queued',
  'sent',
  'done',
  'rejected',
  'unknown',
  'expired',
  'cancelled',
] as const satisfies readonly CommandState[]

/** Begins the texts of the events about a restore. */
export const RESTORE_TEXT = 'Restore of the backup version'

/** Part of a device; without one, the whole device. At most one of the two. */
export interface RestartParams {
  /** Member of a Virtual Chassis. */
  readonly member?: number
  /** Node of a cluster. */
  readonly node?: 'node0' | 'node1'
}

/** Returns the number of the member or node; -1 for the whole device. */
export function numberOfPart({ member, node }: RestartParams): number {
  return node === undefined ? (member ?? -1) : Number(node.slice(-1))
}

/** In wire shape, as the row stores it. */
export interface UpgradeParams {
  readonly image_id: string
  readonly version: string
}

/** In wire shape, as the row stores it. */
export interface LocateParams {
  /** Absent: the driver's usual duration. */
  readonly duration_s?: number
}

/** In wire shape, as the row stores it. */
export interface PingParams {
  /** As isHost() accepts it. */
  readonly host: string
  readonly count: number
  /** Bytes of data in each packet. */
  readonly size: number
  /** As isInterface() accepts it; absent: the device chooses one by the address. */
  readonly egress_interface?: string
}

/** In wire shape, as the row stores it. */
export interface RestoreParams {
  /** The version to return to; absent if the device did not report its backup version. */
  readonly version?: string
}

export type CommandOrder =
  | { readonly kind: 'restart'; readonly params: RestartParams }
  /** `upgrade` downloads, installs and reboots in one step; `stage` downloads, and `activate` does the rest. */
  | { readonly kind: 'upgrade' | 'stage' | 'activate'; readonly params: UpgradeParams }
  /** `locate` makes the device blink, so that a person can find it; `unlocate` stops it and has no duration. */
  | { readonly kind: 'locate' | 'unlocate'; readonly params: LocateParams }
  /** Boots the firmware that the device ran before. */
  | { readonly kind: 'restore_backup'; readonly params: RestoreParams }
  /** Updates the recovery system of the device. */
  | { readonly kind: 'snapshot'; readonly params: Readonly<Record<string, never>> }
  | { readonly kind: 'ping'; readonly params: PingParams }
  /** The device collects the files that its maker's support requests, and uploads them. */
  | { readonly kind: 'support'; readonly params: Readonly<Record<string, never>> }

/**
 * Kinds of commands that only read and may take minutes. Nothing waits for them: devices carry them out beside others,
 * or one after the other, and answer each by its call.
 */
export const diagnosticKinds: readonly CommandOrder['kind'][] = ['ping', 'support']

export function isDiagnostic({ kind }: Pick<CommandOrder, 'kind'>): boolean {
  return diagnosticKinds.includes(kind)
}

/** True for a command after which the device reboots as a whole, once it has answered. */
export function isReboot(order: CommandOrder): boolean {
  switch (order.kind) {
    case 'restart':
      return order.params.member === undefined && order.params.node === undefined
    case 'upgrade':
    case 'activate':
    case 'restore_backup':
      return true
    case 'stage':
    case 'locate':
    case 'unlocate':
    case 'snapshot':
    case 'ping':
    case 'support':
      return false
  }
}

/** The session of a device that the gateway of this process has, with the facts about the device that its driver needs. */
export interface CommandCarrier {
  readonly epoch: string
  readonly mac: string
  readonly type: DeviceType
  readonly capabilities: DeviceCapabilities
}

export type NewCommand = CommandOrder & {
  readonly id: string
  readonly deviceId: string
  /** The device's site when the command was requested; null for a device without one. */
  readonly siteId: string | null
  /** The site upgrade that the command belongs to; null for a person's command. */
  readonly siteUpgradeId: string | null
  readonly attempt: number
  readonly createdAt: Date
  /** The command expires if it is not sent by then. Null: only its upgrade may withdraw it. */
  readonly expiresAt: Date | null
}

/**
 * Why no reply was received: the device took too long, its connection broke, or the gateway process with the connection
 * stopped or died, which is not a fault of the device.
 */
export type LossReason = 'timeout' | 'connection_lost' | 'gateway_lost'

/** The code of a refusal by a device that is still executing an earlier command. A later attempt may succeed. */
export const BUSY = 'busy'

/** How a command ended. */
export type CommandOutcome =
  | { readonly kind: 'done'; readonly text: string | null }
  /** The device certainly did not do it. */
  | { readonly kind: 'rejected'; readonly code: string; readonly text: string; readonly final: boolean }
  /** The device may have done it. */
  | { readonly kind: 'unknown'; readonly why: LossReason }
