import type { Generated, GeneratedAlways } from 'kysely'
import type { DeviceType } from '../events/device-type.ts'
import type { Json } from '../platform/database/json-column.ts'
import type { DocumentColumn } from '../platform/sealing/document-column.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    deviceRegistry: DeviceRegistryTable
    device: DeviceTable
    deviceStatus: DeviceStatusTable
    deviceDisconnection: DeviceDisconnectionTable
    deviceFact: DeviceFactTable
    deviceVersion: DeviceVersionTable
    deviceCommand: DeviceCommandTable
    deviceUpgrade: DeviceUpgradeTable
    deviceCount: DeviceCountTable
    deviceValueCount: DeviceValueCountTable
    deviceValueDelta: DeviceValueCountTable
    deviceImage: DeviceImageTable
    deviceOutage: DeviceOutageTable
  }
}

export interface DeviceRegistryTable {
  id: string
  mac: string
  serial: string
  model: string
  type: DeviceType
  claimCode: string
  /** A manifest has the code that is printed on the device; the service generates one for a device of no manifest. */
  codeOrigin: Generated<'manifest' | 'generated'>
  orgId: string | null
  firmware: string | null
  createdAt: Date
  lastSeenAt: Date | null
}

export interface DeviceTable {
  orgId: string
  id: string
  siteId: string | null
  /** Since when it is in its site. */
  siteSince: Date | null
  mac: string
  serial: string
  model: string
  type: DeviceType
  name: string | null
  claimCode: string
  doc: DocumentColumn
  createdAt: Date
  modifiedAt: Date
  docBytes: GeneratedAlways<number>
  nameKey: GeneratedAlways<string | null>
}

/** A member of a Virtual Chassis, as the device reports it. */
export interface VcMember {
  readonly member: number
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly firmware: string
}

/** The wire's `fwupdate`: the progress of a device's running firmware update. */
export interface FwUpdate {
  readonly progress: number
  readonly status: 'inprogress' | 'failed' | 'upgraded' | 'success' | 'scheduled' | 'error'
  readonly status_id: number
  /** Epoch seconds. */
  readonly timestamp: number
  readonly will_retry: boolean
}

/** The commands that a device supports, in the same terms for every protocol. A document. */
export interface DeviceCapabilities {
  readonly commands: readonly CommandKind[]
  /** The members of a Virtual Chassis that can be restarted alone; `any` if the device doesn't list its members. */
  readonly restart_members: readonly number[] | 'any'
  /** The nodes of a cluster that can be restarted alone. */
  readonly restart_nodes: readonly ('node0' | 'node1')[]
  /** The version that `restore_backup` returns to, if the device reports it. */
  readonly backup_version?: string
  /**
   * Commands that may be repeated once the device is back after their connection was lost: they first check what is
   * already done, and their progress is `reboot` before they request the reboot.
   */
  readonly repeatable?: readonly CommandKind[]
  /** The reasons why the device lacks commands that similar devices have, for the person who requests them. */
  readonly refusals?: Readonly<Partial<Record<CommandKind, string>>>
}

export interface DeviceStatusTable {
  orgId: string
  deviceId: string
  connected: Generated<boolean>
  /** A bigint: pg returns it as text. */
  epoch: Generated<string>
  connectedAt: Date | null
  disconnectedAt: Date | null
  lastSeenAt: Date | null
  firmware: string | null
  bootCount: Generated<number>
  bootedAt: Date | null
  /** See migration 26. */
  bootKnownMs: number | null
  /** See migration 259. */
  connectedMs: number | null
  /** See migration 62. */
  bootId: string | null
  extIp: string | null
  capabilities: Json<DeviceCapabilities>
  members: Json<VcMember[]> | null
  load: Json<Record<string, unknown>> | null
}

/** A copy of the addresses in the status, for searches; triggers of migrations 40 and 120 maintain it. */
export interface DeviceFactTable {
  orgId: string
  deviceId: string
  type: DeviceType
  ip: string | null
  extIp: string | null
}

/** A copy of the version and the boot in the status, for searches; triggers of migration 400 maintain it. */
export interface DeviceVersionTable {
  orgId: string
  deviceId: string
  /** When it booted last, also while it is not connected. */
  bootedAt: Date | null
  firmware: string | null
  type: DeviceType
}

/** The devices that are not connected, for searches; triggers of migration 400 maintain it. */
export interface DeviceDisconnectionTable {
  orgId: string
  deviceId: string
  /** Null before its first connection. */
  disconnectedAt: Date | null
  type: DeviceType
}

export type CommandKind =
  | 'restart'
  | 'upgrade'
  | 'stage'
  | 'activate'
  | 'locate'
  | 'unlocate'
  | 'ping'
  | 'support'
  | 'restore_backup'
  | 'snapshot'

/** The step that a command of several calls has reached. A document. */
export interface CommandProgress {
  /**
   * `restart`: one member or node is sent the restart. `return`: it has accepted, and is expected back; other commands
   * may be sent until then.
   */
  readonly step:
    | 'check'
    | 'clean'
    | 'download'
    | 'verify'
    | 'install'
    | 'reboot'
    | 'restart'
    | 'return'
    | 'roll_back'
    | 'snapshot'
  /** The member of a Virtual Chassis that the step concerns. */
  readonly member?: number
  /** How long the member or node that restarts had been up before, if reported. */
  readonly uptime_s?: number
  /** The completed share of the step. */
  readonly percent?: number
}

export type CommandState = 'queued' | 'sent' | 'done' | 'rejected' | 'unknown' | 'expired' | 'cancelled'

export interface DeviceCommandTable {
  orgId: string
  id: string
  deviceId: string
  /** The site of the device when the command was requested: another site does not see the result. */
  siteId: string | null
  siteUpgradeId: string | null
  kind: CommandKind
  attempt: Generated<number>
  /** Null for a command with an image: see migration 390. */
  params: Json<Record<string, unknown>> | null
  /** The image that the command downloads or installs, and its version. */
  imageId: string | null
  version: string | null
  state: Generated<CommandState>
  epoch: string | null
  /** The call that carries it: see migration 26. */
  callId: number | null
  outcome: Json<Record<string, unknown>> | null
  progress: Json<CommandProgress> | null
  /** Service time of the progress. */
  progressMs: number | null
  createdAt: Date
  /** Null for commands of upgrades, which only their upgrade withdraws. */
  expiresAt: Date | null
  sentAt: Date | null
  /** The same instant in service time. */
  sentMs: number | null
  finishedAt: Date | null
  /** When the effect of a restore was seen, or the wait for it was over. */
  settledAt: Date | null
  /** The state of a command that is queued, or sent for a person: see migration 285. */
  pending: GeneratedAlways<'queued' | 'sent' | null>
  /** True of a restore whose effect is not known yet. */
  unsettled: GeneratedAlways<boolean | null>
}

/**
 * The upgrade that has a device to itself, and the progress of its latest update. Each device has a row, which a trigger of
 * migration 175 inserts.
 */
export interface DeviceUpgradeTable {
  orgId: string
  deviceId: string
  /** Changes with each change of the progress; clients watch it. */
  statusId: Generated<number>
  /** The progress and the next three; null: no progress is shown. */
  progress: number | null
  status: FwUpdate['status'] | null
  willRetry: boolean | null
  shownAt: Date | null
  /** The upgrade has commanded the device, and the outcome is not known yet. */
  inFlight: Generated<boolean>
  /** The site upgrade that has the device from its creation until the device's target ends; null: none has. */
  upgradeId: string | null
  orgUpgradeId: string | null
  imageId: string | null
  /** The images that the upgrade gives the device afterwards, one after the other; null: none. */
  laterImages: Json<readonly string[]> | null
}

/** Maintained by triggers: see migration 9. */
export interface DeviceCountTable {
  orgId: string
  siteId: string | null
  type: DeviceType
  model: string
  /** A bigint: pg returns it as text. */
  count: string
}

/** See migration 94. */
export interface DeviceValueCountTable {
  orgId: string
  field: string
  type: DeviceType
  value: string
  /** A bigint: pg returns it as text. */
  count: string
}

export interface DeviceImageTable {
  orgId: string
  deviceId: string
  /** 1 to 3. */
  number: number
  /** Name of its file. */
  name: string
  /** 0: not measured yet. */
  bytes: Generated<number>
  width: number
  height: number
  createdAt: Date
}

export interface DeviceOutageTable {
  orgId: string
  deviceId: string
  downAt: Date
  dueAt: Date
}
