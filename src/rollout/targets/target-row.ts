import { noCapabilities } from '../../devices/commands/capabilities.ts'
import type { CommandCarrier, LossReason } from '../../devices/commands/command.ts'
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

/** A target as the database answers it. */
export interface TargetRow extends Omit<
  LockedTarget,
  'reported' | 'device' | 'command' | 'download' | 'health' | 'carrier'
> {
  readonly reported: readonly string[] | null
  readonly type: DeviceType | null
  /** The connection state that the interface shows. */
  readonly up: boolean
  readonly heard: boolean
  readonly connectedMs: number | null
  readonly disconnectedMs: number | null
  readonly firmware: string | null
  readonly deviceBootCount: number | null
  readonly bootedAt: Date | null
  readonly isBootKnown: boolean
  readonly members: readonly VcMember[] | null
  readonly commandId: string | null
  /** JSON: see createCapabilitiesParser(). */
  readonly capabilities: string | null
  /** The epoch of its session, if the gateway of this process has it. */
  readonly epoch: string | null
  readonly commandKind: UpgradeOrder
  readonly commandState: CommandState
  readonly refusal: string | null
  readonly refusalIsFinal: boolean
  readonly refusalIsBusy: boolean
  readonly loss: LossReason | null
  readonly isIdle: boolean
  readonly lost: LossReason | null
  readonly mayReboot: boolean
  readonly sentAt: Date | null
  readonly touchedMs: number | null
  readonly bytesServed: string | null
  readonly delivered: boolean
  readonly fenced: boolean
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
    force: row.force,
    attempt: row.attempt,
    failedAttempts: row.failedAttempts,
    lostAttempts: row.lostAttempts,
    retryAtMs: row.retryAtMs,
    fetched: row.fetched,
    staged: row.staged,
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
    link: linkOf(row.up, row.heard),
    connectedMs: row.connectedMs,
    disconnectedMs: row.disconnectedMs,
    firmware: row.firmware,
    bootCount: row.deviceBootCount ?? 0,
    bootedAt: row.bootedAt,
    isBootKnown: row.isBootKnown,
    memberFirmware: (row.members ?? []).map((member) => identifyVersion(member.firmware, [named])),
    commands: capabilities.commands,
    repeatable: capabilities.repeatable ?? [],
    backupVersion: capabilities.backup_version ?? null,
  }
}

function commandOf(row: TargetRow, id: string): CommandNow {
  return {
    id,
    kind: row.commandKind,
    state: row.commandState,
    refusal: row.refusal,
    refusalIsFinal: row.refusalIsFinal,
    refusalIsBusy: row.refusalIsBusy,
    loss: row.loss,
    isIdle: row.isIdle,
    lost: row.lost,
    mayReboot: row.mayReboot,
    sentAt: row.sentAt,
  }
}

function downloadOf({ bytesServed, delivered, fenced }: TargetRow, touchedMs: number): DownloadNow {
  return { touchedMs, bytesServed: Number(bytesServed), delivered, fenced }
}
