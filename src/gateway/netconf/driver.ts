import type { DeviceCapabilities } from '../../devices/tables.ts'
import { deviceText } from '../device-text.ts'
import type { Driver, DriverCommand, DriverDevice, EncodedCommand, Outcome, Rejection, SentCommand } from '../driver.ts'
import { findClusterRefusal } from './cluster.ts'
import type { JunosFacts } from './facts.ts'
import { rejected, waits } from './task.ts'
import type { JunosCommand } from './tasks.ts'

export const FAMILY = 'junos'

/** The messages of Junos devices: a call is a task of several requests, and the reply is its result. */
export interface JunosMessages {
  readonly hello: JunosFacts
  readonly call: JunosCommand
  readonly reply: { readonly kind: unknown; readonly code?: unknown; readonly text?: unknown; readonly final?: unknown }
  /** Devices send none. */
  readonly event: unknown
}

/** Junos: EX and QFX switches, and SRX gateways. Source: Juniper's YANG modules and NETCONF guide. */
export const junosDriver: Driver<JunosMessages> = { capabilitiesOf, encode, decodeReply, decodeEvent: () => null }

/** The version that a restore boots, or the reason why none is possible. */
type KnownBackup = Partial<Record<'version' | 'refusal', string>>

/** Source: spec, "Devices", 11. */
const restoresBackup = /^EX4[014]00/

function capabilitiesOf({ model, type, members, nodes, backup }: JunosFacts): DeviceCapabilities {
  const isCluster = nodes.length > 0
  const refusal = isCluster ? findClusterRefusal(model) : null
  const isSwitch = type === 'switch'
  const known: KnownBackup = restoresBackup.test(model) ? restorableBackup(members, backup) : {}
  const refusals = {
    ...(refusal !== null && { upgrade: refusal, stage: refusal, activate: refusal }),
    ...(known.refusal !== undefined && { restore_backup: known.refusal }),
  }
  return {
    commands: [
      'restart',
      ...(refusal === null ? (['stage', 'activate'] as const) : []),
      ...(known.version !== undefined ? (['restore_backup'] as const) : []),
      ...(isSwitch ? (['snapshot'] as const) : []),
    ],
    restart_members: members.filter(({ isPresent }) => isPresent).map(({ member }) => member),
    restart_nodes: nodes.filter(({ isPresent }) => isPresent).map(({ node }) => node),
    ...(!isCluster && { repeatable: ['activate'] as const }),
    ...(known.version !== undefined && { backup_version: known.version }),
    ...(Object.keys(refusals).length > 0 && { refusals }),
  }
}

/** A member that is absent keeps its version, with which it could not join the others after their restore. */
function restorableBackup(members: JunosFacts['members'], backup: JunosFacts['backup']): KnownBackup {
  const absent = members.find(({ isPresent }) => !isPresent)
  return absent === undefined ? { ...backup } : { refusal: `member ${absent.member} is not present` }
}

/** The time for the first request; each further one renews it. */
const FIRST_WAIT_MS = waits.checksum

function encode(_: DriverDevice, command: DriverCommand): EncodedCommand<JunosCommand> | Rejection {
  switch (command.kind) {
    case 'restart':
    case 'stage':
    case 'activate':
    case 'restore_backup':
    case 'snapshot':
      return { kind: 'call', call: command, timeoutMs: FIRST_WAIT_MS }
    case 'upgrade':
      return rejected('unsupported', 'Junos devices download and install firmware in two steps', true)
    case 'locate':
    case 'unlocate':
      return rejected('unsupported', 'Junos devices do not blink on request', true)
    case 'ping':
    case 'support':
      return rejected('unsupported', 'Junos devices are not asked for that', true)
  }
}

function decodeReply(_: SentCommand, { kind, code, text, final }: JunosMessages['reply']): Outcome | null {
  const words = typeof text === 'string' ? deviceText(text) : null
  if (kind === 'returning') return { kind }
  if (kind === 'done') return { kind, text: words }
  if (kind !== 'rejected' || typeof code !== 'string') return null
  return { kind, code, text: words ?? '', final: final === true }
}
