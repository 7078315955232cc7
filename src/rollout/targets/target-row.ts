import { noCapabilities } from '../../devices/commands/capabilities.ts'
import { BUSY, type CommandCarrier, type LossReason } from '../../devices/commands/command.ts'
import type { CommandState, DeviceCapabilities, VcMember } from '../../devices/tables.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { type NamedVersion, identifyVersion } from '../../firmware/version-identity.ts'
import {
  type CommandNow,
  type DeviceNow,
  type DownloadNow,
  type TargetNow,
  type UpgradeOrder,
  linkOf,
} from './target.ts'

export interface LockedTarget extends TargetNow {
  readonly upgradeId: string
  readonly mac: string
  /** The device's name; null if it has none or has left the organization. */
  readonly name: string | null
  /** Null: the gateway of this process can't send it a command at once. */
  readonly carrier: CommandCarrier | null
}

/** The conditions of a target that are true, and null in place of false. */
type Flags<K extends string> = { readonly [name in K]: true | null }

/** A target as the database answers it. */
export interface TargetRow
  extends
    Omit<LockedTarget, keyof Decoded>,
    Flags<'force' | 'fetched' | 'staged' | 'up' | 'heard' | 'isBootKnown' | 'mayReboot' | 'delivered' | 'fenced'> {
  /** Its place in the order of the plan. */
  readonly ordinal: number
  readonly reported: readonly string[] | null
  /** Null: none. */
  readonly failedAttempts: number | null
  readonly lostAttempts: number | null
  readonly type: DeviceType | null
  readonly connectedMs: number | null
  readonly disconnectedMs: number | null
  readonly firmware: string | null
  readonly deviceBootCount: number | null
  readonly bootedAt: Date | null
  readonly members: readonly VcMember[] | null
  readonly commandId: string | null
  /** JSON: see createCapabilitiesParser(). */
  readonly capabilities: string | null
  /** The epoch of its session, if the gateway of this process has it. */
  readonly epoch: string | null
  readonly commandKind: UpgradeOrder
  readonly commandState: CommandState
  /** Null: the command is done, or has not ended. */
  readonly outcome: StoredOutcome | null
  readonly sentAt: Date | null
  readonly touchedMs: number | null
  readonly bytesServed: string | null
}

/** The members that targetOf() makes of others. */
type Decoded = Pick<
  LockedTarget,
  | 'reported'
  | 'force'
  | 'fetched'
  | 'staged'
  | 'failedAttempts'
  | 'lostAttempts'
  | 'device'
  | 'command'
  | 'download'
  | 'health'
  | 'carrier'
>

/** The outcome of a command in its row. */
interface StoredOutcome {
  readonly text?: string | null
  readonly final?: boolean
  readonly code?: string
  readonly why?: LossReason
  readonly lost?: LossReason | null
  readonly idle?: unknown
}

export type CapabilitiesParser = (text: string | null) => DeviceCapabilities

/** Parses capabilities. Most devices have the same ones, which are parsed once. */
export function createCapabilitiesParser(): CapabilitiesParser {
  const known = new Map<string, DeviceCapabilities>()
  return (text) => {
    if (text === null) return noCapabilities
    const capabilities = known.get(text) ?? (JSON.parse(text) as DeviceCapabilities)
    known.set(text, capabilities)
    return capabilities
  }
}

/** Names each member: copying the rest of such a wide row takes longer than anything else that a round does with it. */
export function targetOf(row: TargetRow, parse: CapabilitiesParser): LockedTarget {
  const capabilities = parse(row.capabilities)
  const named = { version: row.targetVersion, reported: row.reported ?? [] }
  return {
    upgradeId: row.upgradeId,
    mac: row.mac,
    name: row.name,
    deviceId: row.deviceId,
    phase: row.phase,
    downloadPhase: row.downloadPhase,
    rank: row.rank,
    state: row.state,
    enteredMs: row.enteredMs,
    fromVersion: row.fromVersion,
    targetVersion: row.targetVersion,
    reported: named.reported,
    imageId: row.imageId,
    path: row.path,
    force: row.force ?? false,
    attempt: row.attempt,
    failedAttempts: row.failedAttempts ?? 0,
    lostAttempts: row.lostAttempts ?? 0,
    retryAtMs: row.retryAtMs,
    fetched: row.fetched ?? false,
    staged: row.staged ?? false,
    bootCount: row.bootCount,
    carrier:
      row.type === null || row.epoch === null ? null : { epoch: row.epoch, mac: row.mac, type: row.type, capabilities },
    device: row.type && deviceOf(row, row.type, { named, capabilities }),
    command: row.commandId === null ? null : commandOf(row, row.commandId),
    download: row.touchedMs === null ? null : downloadOf(row, row.touchedMs),
  }
}

function deviceOf(
  row: TargetRow,
  type: DeviceType,
  { named, capabilities }: { readonly named: NamedVersion; readonly capabilities: DeviceCapabilities },
): DeviceNow {
  return {
    type,
    link: linkOf(row.up ?? false, row.heard ?? false),
    connectedMs: row.connectedMs,
    disconnectedMs: row.disconnectedMs,
    firmware: row.firmware,
    bootCount: row.deviceBootCount ?? 0,
    bootedAt: row.bootedAt,
    isBootKnown: row.isBootKnown ?? false,
    memberFirmware: (row.members ?? []).map((member) => identifyVersion(member.firmware, [named])),
    commands: capabilities.commands,
    repeatable: capabilities.repeatable ?? [],
    backupVersion: capabilities.backup_version ?? null,
  }
}

function commandOf({ commandKind, commandState, outcome, mayReboot, sentAt }: TargetRow, id: string): CommandNow {
  return {
    id,
    kind: commandKind,
    state: commandState,
    refusal: outcome?.text ?? null,
    refusalIsFinal: outcome?.final ?? false,
    refusalIsBusy: outcome?.code === BUSY,
    loss: outcome?.why ?? null,
    isIdle: outcome?.idle !== undefined,
    lost: outcome?.lost ?? null,
    mayReboot: mayReboot ?? false,
    sentAt,
  }
}

function downloadOf({ bytesServed, delivered, fenced }: TargetRow, touchedMs: number): DownloadNow {
  return { touchedMs, bytesServed: Number(bytesServed), delivered: delivered ?? false, fenced: fenced ?? false }
}
