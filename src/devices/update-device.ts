import { isDeepStrictEqual } from 'node:util'
import type { SiteScope } from '../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../events/append.ts'
import { omitSecrets } from '../orgs/secrets/secrets.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { invalidField, notFound } from '../platform/errors.ts'
import { changeDevice } from './change-device.ts'
import { type Device, deviceOfEvent, lockDevice, updateDeviceRow } from './store.ts'
import { shareMapsOfSite } from '../maps/store-share.ts'

/**
 * Merges a change into the device's document, top level only; `name` is a part of it.
 * @param change In wire shape; `name`, where present, is a text or null.
 * @throws AppError not_found; invalid for a `map_id` of which the site has no map.
 */
export function updateDevice(
  ctx: Context,
  scope: SiteScope,
  { deviceId, change }: { readonly deviceId: string; readonly change: Record<string, unknown> },
): Promise<Device> {
  return inTx(ctx, async (tx) => {
    // The map is locked before the device, as when a map is deleted.
    await assertMap(tx, scope, change['map_id'])
    const device = await lockDevice(tx, scope, deviceId)
    if (device === undefined) throw notFound(deviceId)
    const { before, after, name, doc } = changeDevice(device, change)
    const at = ctx.clock.now()
    await updateDeviceRow(tx, scope, { id: deviceId, name, doc, at })
    const auditId = await appendAudit(tx, scope, {
      message: `Update device ${name ?? device.mac}`,
      siteId: scope.siteId,
      deviceId,
      before: omitSecrets(before),
      after: omitSecrets(after),
      at,
    })
    const event = { device: { ...deviceOfEvent(device), name }, what: 'CONFIG_CHANGED_BY_USER' as const, auditId }
    if (!isDeepStrictEqual(before, after)) await appendDeviceEvents(tx, scope, [event], at)
    return { ...device, name, doc, modifiedAt: at }
  })
}

/** Null and a missing value put a device on no map. */
async function assertMap(tx: Tx, scope: SiteScope, mapId: unknown): Promise<void> {
  if (mapId === undefined || mapId === null) return
  const { siteId } = scope
  if ((await shareMapsOfSite(tx, scope, { siteId, mapIds: [mapId] })).size > 0) return
  throw invalidField('map_id', 'no map of this site has this id')
}
