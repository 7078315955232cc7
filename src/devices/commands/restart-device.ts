import type { SiteScope } from '../../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { type CommandCandidate, deviceOfEvent, lockCommandCandidates } from '../store.ts'
import type { RestartParams } from './command.ts'
import { findCommandRefusal, queueCommands } from './queue-commands.ts'
import { listRestarting } from './store-restarts.ts'
import { shareUpgradesInFlight } from './store-upgrades.ts'

/**
 * Queues a restart, of the whole device or of one part, with its event and its audit record. A request for a restart that
 * is already under way gets only its audit record.
 * @throws AppError not_found; invalid if the device is offline, can't restart that part alone, or is being upgraded.
 */
export async function restartDevice(
  ctx: Context,
  scope: SiteScope,
  { deviceId, part }: { readonly deviceId: string; readonly part: RestartParams },
): Promise<void> {
  await inTx(ctx, async (tx) => {
    const [device] = await lockCommandCandidates(tx, scope, [deviceId])
    if (device === undefined) throw notFound(deviceId)
    const upgradeId = (await shareUpgradesInFlight(tx, scope, [deviceId])).get(deviceId)
    if (upgradeId !== undefined) throw new AppError('invalid', refusalDuring(upgradeId), { upgrade_id: upgradeId })
    const refusal = findCommandRefusal(device, { kind: 'restart', params: part })
    if (refusal !== null) throw new AppError('invalid', refusal)
    await queueRestarts(tx, scope, { devices: [device], part, at: ctx.clock.now() })
  })
}

/** The ids of the devices that restart, and of those that don't because they are offline. */
export interface RestartReport {
  readonly restarted: readonly string[]
  readonly offline: readonly string[]
}

/**
 * Queues restarts of the connected devices among those given, with an event for each and one audit record. Restarts that
 * are already under way are not queued again.
 * @throws AppError invalid, with every refused device and the reason, where a device is not in the site, can't restart
 *   that part alone, or is being upgraded, and if all devices are offline. Then no device restarts.
 */
export async function restartDevices(
  ctx: Context,
  scope: SiteScope,
  { deviceIds, part }: { readonly deviceIds: readonly string[]; readonly part: RestartParams },
): Promise<RestartReport> {
  const ids = [...new Set(deviceIds.map((id) => id.toLowerCase()))]
  return inTx(ctx, async (tx) => {
    const found = await lockCommandCandidates(tx, scope, ids)
    const upgrades = await shareUpgradesInFlight(tx, scope, ids)
    const byId = new Map(found.map((device) => [device.id, device]))
    const refused = ids.flatMap((id) => {
      const reason = findRestartRefusal(byId.get(id), upgrades.get(id), part)
      return reason === null ? [] : [{ id, reason }]
    })
    const connected = found.filter(({ connected }) => connected)
    const offline = found.filter(({ connected }) => !connected).map(({ id }) => id)
    if (refused.length > 0) throw refusedRestarts(refused)
    if (connected.length === 0) throw refusedRestarts(offline.map((id) => ({ id, reason: OFFLINE })))
    await queueRestarts(tx, scope, { devices: connected, part, at: ctx.clock.now() })
    return { restarted: connected.map(({ id }) => id), offline }
  })
}

export const OFFLINE = 'offline'

/** An offline device is not refused: it is left out. */
function findRestartRefusal(
  device: CommandCandidate | undefined,
  upgradeId: string | undefined,
  part: RestartParams,
): string | null {
  if (device === undefined) return 'not found'
  if (upgradeId !== undefined) return refusalDuring(upgradeId)
  return device.connected ? findCommandRefusal(device, { kind: 'restart', params: part }) : null
}

function refusedRestarts(refused: readonly { readonly id: string; readonly reason: string }[]): AppError {
  return new AppError('invalid', "No device restarts, because some of the devices can't", {
    error: refused.map(({ id }) => id),
    reason: refused.map(({ reason }) => reason),
  })
}

interface Restarts {
  readonly devices: readonly CommandCandidate[]
  readonly part: RestartParams
  readonly at: Date
}

async function queueRestarts(tx: Tx, scope: SiteScope, { devices, part, at }: Restarts): Promise<void> {
  const restarting = await listRestarting(tx, scope, { deviceIds: devices.map(({ id }) => id), part, at })
  const idle = devices.filter(({ id }) => !restarting.has(id))
  await queueCommands(tx, scope, { devices: idle, order: { kind: 'restart', params: part }, at })
  const [device] = devices
  const single = devices.length === 1 ? device : undefined
  const auditId = await appendAudit(tx, scope, {
    message: single === undefined ? `Restart ${devices.length} devices` : `Restart device ${single.name ?? single.mac}`,
    siteId: scope.siteId,
    siteName: device?.siteName ?? undefined,
    deviceId: single?.id,
    after: { ...(single === undefined ? { macs: devices.map(({ mac }) => mac) } : { mac: single.mac }), ...part },
    at,
  })
  const events = idle.map((each) => ({ device: deviceOfEvent(each), what: 'RESTART_BY_USER' as const, auditId }))
  await appendDeviceEvents(tx, scope, events, at)
}

/** A device that loses its power while it writes its flash may never start again. */
function refusalDuring(upgradeId: string): string {
  return `Cannot restart the device while upgrade ${upgradeId} is under way on it`
}
