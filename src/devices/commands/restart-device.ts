import { uuidv7 } from 'uuidv7'
import type { SiteScope } from '../../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { findRefusal } from './capabilities.ts'
import type { RestartParams } from './command.ts'
import { deviceOfEvent, shareRestartCandidate } from '../store.ts'
import { shareUpgradeInFlight } from './store-upgrades.ts'
import { insertCommands } from './store.ts'

/** A person does not expect a restart that comes later than this. */
const SEND_WITHIN_MS = 60_000

/**
 * Queues a restart, of the whole device or of one part, with its event and its audit record.
 * @throws AppError not_found; invalid where the device is offline, can't restart that part alone, or is being upgraded.
 */
export async function restartDevice(
  ctx: Context,
  scope: SiteScope,
  { deviceId, part }: { readonly deviceId: string; readonly part: RestartParams },
): Promise<void> {
  await inTx(ctx, async (tx) => {
    const device = await shareRestartCandidate(tx, scope, deviceId)
    if (device === undefined) throw notFound(deviceId)
    const upgradeId = await shareUpgradeInFlight(tx, scope, deviceId)
    if (upgradeId !== undefined) throw upgradeInFlight(upgradeId)
    if (!device.connected) throw new AppError('invalid', 'Cannot restart an offline device')
    const refusal = findRefusal(device.capabilities, { kind: 'restart', params: part })
    if (refusal !== null) throw new AppError('invalid', refusal)
    const at = ctx.clock.now()
    const expiresAt = addMs(at, SEND_WITHIN_MS)
    await insertCommands(tx, scope, [
      {
        kind: 'restart',
        params: part,
        id: uuidv7(),
        deviceId,
        siteUpgradeId: null,
        attempt: 1,
        createdAt: at,
        expiresAt,
      },
    ])
    const message = `Restart device ${device.name ?? device.mac}`
    const auditId = await appendAudit(tx, scope, {
      message,
      siteId: scope.siteId,
      deviceId: device.id,
      after: { mac: device.mac, ...part },
      at,
    })
    await appendDeviceEvents(tx, scope, [{ device: deviceOfEvent(device), what: 'RESTART_BY_USER', auditId }], at)
  })
}

/** A device that loses its power while it writes its flash may never start again. */
function upgradeInFlight(upgradeId: string): AppError {
  const detail = `Cannot restart the device while upgrade ${upgradeId} is under way on it`
  return new AppError('invalid', detail, { upgrade_id: upgradeId })
}
