import type { LossReason } from '../../devices/commands/command.ts'
import type { CommandKind, CommandState, VcMember } from '../../devices/tables.ts'
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
}

/** A target as the database answers it. */
export interface TargetRow extends Omit<LockedTarget, 'reported' | 'device' | 'command' | 'download' | 'health'> {
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
  /** JSON, as the next one: see createKindsParser(). */
  readonly commands: string | null
  readonly repeatable: string | null
  readonly backupVersion: string | null
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

export type KindsParser = (text: string | null) => readonly CommandKind[]

/** Parses lists of kinds. Most devices have the same one, which is parsed once. */
export function createKindsParser(): KindsParser {
  const known = new Map<string | null, readonly CommandKind[]>([[null, []]])
  return (text) => {
    const kinds = known.get(text) ?? (JSON.parse(text ?? '[]') as CommandKind[])
    known.set(text, kinds)
    return kinds
  }
}

/** Names each member: copying the rest of such a wide row takes longer than anything else that a round does with it. */
export function targetOf(row: TargetRow, kindsOf: KindsParser): LockedTarget {
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
    device: row.type && deviceOf(row, row.type, { named, kindsOf }),
    command: row.commandId === null ? null : commandOf(row, row.commandId),
    download: row.touchedMs === null ? null : downloadOf(row, row.touchedMs),
  }
}

function deviceOf(
  row: TargetRow,
  type: DeviceType,
  { named, kindsOf }: { readonly named: NamedVersion; readonly kindsOf: KindsParser },
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
    commands: kindsOf(row.commands),
    repeatable: kindsOf(row.repeatable),
    backupVersion: row.backupVersion,
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
