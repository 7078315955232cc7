import type { CommandKind, DeviceCapabilities } from '../../devices/tables.ts'
import type { DriverCommand, DriverDevice, EncodedCommand } from '../driver.ts'
import type { Call } from '../websockets/jsonrpc.ts'
import { type ExtensionCall, isExtensionMethod } from './extension-messages.ts'
import type { Capabilities } from './messages.ts'

const MINUTE_MS = 60_000
const REBOOT_TIMEOUT_MS = MINUTE_MS / 2
/** The device downloads, installs or copies its system before it replies. */
const LONG_TIMEOUT_MS = 30 * MINUTE_MS

/** Returns the commands that the extension adds, and the backup version that the device reports. */
export function extensionOf({ 'x-signalbox': extension }: Capabilities): Omit<DeviceCapabilities, 'commands'> & {
  readonly commands: readonly CommandKind[]
} {
  const { methods = [], members, backup_version: backup } = extension ?? {}
  const offered = new Set(methods.filter(isExtensionMethod))
  const restartsParts = offered.has('reboot')
  const restores = offered.has('restore_backup')
  return {
    commands: [
      // One without the other does not make an upgrade.
      ...(offered.has('stage') && offered.has('activate') ? (['stage', 'activate'] as const) : []),
      ...(restores && backup !== null ? (['restore_backup'] as const) : []),
      ...(offered.has('snapshot') ? (['snapshot'] as const) : []),
    ],
    restart_members: restartsParts ? (members?.map(({ member }) => member) ?? 'any') : [],
    restart_nodes: restartsParts ? ['node0', 'node1'] : [],
    ...(restores && typeof backup === 'string' && { backup_version: backup }),
    ...(restores && backup === null && { refusals: { restore_backup: 'no backup version' } }),
  }
}

type Command<K extends DriverCommand['kind']> = Extract<DriverCommand, { kind: K }>

/** Encodes the restart of a part. */
export function encodePartRestart(
  { mac: serial }: DriverDevice,
  { member, node }: Command<'restart'>,
): EncodedCommand<Call> {
  const part = { ...(member !== undefined && { member }), ...(node !== undefined && { node }) }
  return call('reboot', { serial, ...part }, REBOOT_TIMEOUT_MS)
}

/** Encodes a command that only the extension knows. The caller has checked the address of a download. */
export function encodeExtension(
  { mac: serial }: DriverDevice,
  command: Command<'stage' | 'activate' | 'restore_backup' | 'snapshot'>,
  needsDeviceCa: boolean,
): EncodedCommand<Call> {
  switch (command.kind) {
    case 'stage': {
      const { uri, sha256 } = command
      return call('stage', { serial, uri, sha256, ...(needsDeviceCa && { 'use-local-certificates': true }) })
    }
    case 'activate':
      return call('activate', { serial, sha256: command.sha256 })
    case 'restore_backup':
      return call('restore_backup', { serial, ...(command.version !== undefined && { version: command.version }) })
    case 'snapshot':
      return call('snapshot', { serial })
  }
}

function call<M extends keyof ExtensionCall>(
  method: M,
  params: ExtensionCall[M],
  timeoutMs = LONG_TIMEOUT_MS,
): EncodedCommand<Call> {
  return { kind: 'call', call: { method: `x-signalbox.${method}`, params }, timeoutMs }
}
