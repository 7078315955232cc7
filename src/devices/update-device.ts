import type { SiteScope } from '../access/scope.ts'
import { appendAudit } from '../events/append.ts'
import { mergeDocument, omitFields } from '../http/documents.ts'
import { omitSecrets } from '../orgs/secrets.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/db.ts'
import { invalidField, notFound } from '../platform/errors.ts'
import { type Device, lockDevice, updateDevice } from './store.ts'
import { holdMapOfSite } from './store-place.ts'

/** What the service itself says of a device; a client that sends it back changes nothing. */
const OWN_FIELDS = [
  ...['id', 'org_id', 'site_id', 'mac', 'serial', 'model', 'type', 'created_time', 'modified_time'],
  ...['image1_url', 'image2_url', 'image3_url'],
]

/**
 * Top-level merge into the device's document; `name` is a part of it.
 * @param change In wire shape; `name`, where given, is a text or null.
 * @throws AppError not_found, invalid for a `map_id` of which the site has no map.
 */
export function saveDevice(
  ctx: Context,
  scope: SiteScope,
  { deviceId, change }: { readonly deviceId: string; readonly change: Record<string, unknown> },
): Promise<Device> {
  return inTx(ctx, async (tx) => {
    // Before the device: who deletes a map locks its devices after it too.
    await assertMap(tx, scope, change['map_id'])
    const device = await lockDevice(tx, scope, deviceId)
    if (device === undefined) throw notFound(deviceId)
    const before = { ...device.doc, ...(device.name !== null && { name: device.name }) }
    const after = mergeDocument(before, omitFields(change, OWN_FIELDS))
    const { name: newName, ...doc } = after
    const name = typeof newName === 'string' ? newName : null
    const at = ctx.clock.now()
    await updateDevice(tx, scope, { id: deviceId, name, doc, at })
    await appendAudit(tx, scope, {
      message: `Update device ${name ?? device.mac}`,
      siteId: scope.siteId,
      before: omitSecrets(before),
      after: omitSecrets(after),
      at,
    })
    return { ...device, name, doc, modifiedAt: at }
  })
}

/** Null and a missing value put a device on no map. */
async function assertMap(tx: Tx, scope: SiteScope, mapId: unknown): Promise<void> {
  if (mapId === undefined || mapId === null) return
  if (await holdMapOfSite(tx, scope, { siteId: scope.siteId, mapId })) return
  throw invalidField('map_id', 'no map of this site has this id')
}
