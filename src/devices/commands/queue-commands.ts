import { uuidv7 } from '../../platform/uuidv7.ts'
import type { InOrg } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { Device } from '../store.ts'
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

/** The state of a device that decides whether a person may command it now. */
export interface Readiness {
  readonly connected: boolean
  readonly capabilities: DeviceCapabilities
}

/** Returns why a person's command can't be queued for the device; null when it can. */
export function findCommandRefusal({ connected, capabilities }: Readiness, order: CommandOrder): string | null {
  if (!connected) return `Cannot ${verbs[order.kind]} an offline device`
  return findRefusal(capabilities, order)
}

/** A device that is to execute a command. */
export type Commanded = Readiness & Pick<Device, 'id' | 'mac' | 'name' | 'siteId' | 'siteName'>

/** The content of the audit record of a command. */
export interface CommandAudit {
  /** Continues with the device: `Locate device`. */
  readonly message: string
  /** Further fields of the record. */
  readonly after?: (commandId: string) => Readonly<Record<string, unknown>>
}

/**
 * Queues a person's command for a device that `tx` has locked, with its audit record.
 * @returns The id of the command.
 * @throws AppError invalid if the device is offline or can't do it.
 */
export async function queueCommand(
  tx: Tx,
  scope: InOrg,
  {
    device,
    order,
    at,
    audit,
  }: {
    readonly device: Commanded
    readonly order: CommandOrder
    readonly at: Date
    readonly audit: CommandAudit
  },
): Promise<string> {
  const refusal = findCommandRefusal(device, order)
  if (refusal !== null) throw new AppError('invalid', refusal)
  const [id = ''] = await queueCommands(tx, scope, { devices: [device], order, at })
  await appendAudit(tx, scope, {
    message: `${audit.message} ${device.name ?? device.mac}`,
    siteId: device.siteId,
    siteName: device.siteName ?? undefined,
    deviceId: device.id,
    after: { mac: device.mac, ...audit.after?.(id) },
    at,
  })
  return id
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
