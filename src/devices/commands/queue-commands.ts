import { uuidv7 } from 'uuidv7'
import type { InOrg } from '../../access/scope.ts'
import { addMs } from '../../platform/clock.ts'
import type { Tx } from '../../platform/db.ts'
import type { CommandKind, DeviceCapabilities } from '../tables.ts'
import { findRefusal } from './capabilities.ts'
import type { CommandOrder } from './command.ts'
import { insertCommands } from './store.ts'

/** A person does not expect an effect that comes later than this. */
const SEND_WITHIN_MS = 60_000

/** The commands as they continue "Cannot". */
const verbs: Readonly<Record<CommandKind, string>> = {
  restart: 'restart',
  upgrade: 'upgrade',
  stage: 'upgrade',
  activate: 'upgrade',
  locate: 'locate',
  unlocate: 'unlocate',
  ping: 'ping from',
  support: 'collect support files of',
  restore_backup: 'restore the backup version of',
  snapshot: 'take a recovery snapshot of',
}

/** What decides whether a person may command a device now. */
export interface Readiness {
  readonly connected: boolean
  readonly capabilities: DeviceCapabilities
}

/** Returns why a person's command can't be queued for the device; null when it can. */
export function findCommandRefusal({ connected, capabilities }: Readiness, order: CommandOrder): string | null {
  if (!connected) return `Cannot ${verbs[order.kind]} an offline device`
  return findRefusal(capabilities, order)
}

/**
 * Queues a person's command for devices, for which findCommandRefusal() has found no refusal.
 * @returns The ids of the commands, in the order of the devices.
 */
export async function queueCommands(
  tx: Tx,
  scope: InOrg,
  {
    devices,
    order,
    at,
  }: {
    readonly devices: readonly { readonly id: string; readonly siteId: string | null }[]
    readonly order: CommandOrder
    readonly at: Date
  },
): Promise<string[]> {
  const common = { ...order, siteUpgradeId: null, attempt: 1, createdAt: at, expiresAt: addMs(at, SEND_WITHIN_MS) }
  const commands = devices.map(({ id: deviceId, siteId }) => Object.assign({ id: uuidv7(), deviceId, siteId }, common))
  await insertCommands(tx, scope, commands)
  return commands.map(({ id }) => id)
}
