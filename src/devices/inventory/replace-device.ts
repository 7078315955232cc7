import type { InOrg, OrgScope } from '../../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import { omitSecrets } from '../../orgs/secrets/secrets.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError, invalidField, notFound } from '../../platform/errors.ts'
import { moveDeviceImages } from '../images/store.ts'
import { type Device, assignToSite, deviceOfEvent, lockDevicesBy, updateDeviceRow } from '../store.ts'
import { type Place, sharePlaceOf } from '../store-place.ts'
import { planReplacement } from './plan-replacement.ts'

export interface ReplaceRequest {
  /** MAC of the device to replace; MACs are in lower case without separators. */
  readonly mac: string
  /** MAC of the device of the inventory that replaces it. */
  readonly inventoryMac: string
  /** The site at which the replaced device must be; null: any. */
  readonly siteId: string | null
  /** Fields that the replacement does not take; see planReplacement(). */
  readonly discard: readonly string[]
}

/**
 * Replaces a device with another one of the inventory; the replaced device is then unassigned.
 * @throws AppError not_found for either device; otherwise as takePlace().
 */
export async function replaceDevice(ctx: Context, scope: OrgScope, request: ReplaceRequest): Promise<void> {
  const { mac, inventoryMac, siteId, discard } = request
  await inTx(ctx, async (tx) => {
    const place = await sharePlaceOf(tx, scope, mac)
    const devices = await lockDevicesBy(tx, scope, { macs: [mac, inventoryMac], serials: [] })
    const replaced = devices.find((device) => device.mac === mac)
    const replacement = devices.find((device) => device.mac === inventoryMac)
    if (replaced === undefined) throw notFound(mac)
    if (replacement === undefined) throw notFound(inventoryMac)
    if (siteId !== null && replaced.siteId !== siteId)
      throw invalidField('site_id', `${mac} is not a device of this site`)
    const fields = { replaced: 'mac', replacement: 'inventory_mac' }
    await takePlace(tx, scope, { replaced, replacement, place, discard, fields, at: ctx.clock.now() })
  })
}

export interface PlaceTaking {
  /** The caller has locked both. */
  readonly replaced: Device
  readonly replacement: Device
  /** The replaced device's place, locked before both devices. */
  readonly place: Place | undefined
  readonly discard: readonly string[]
  /** The names of the two in the caller's request. */
  readonly fields: { readonly replaced: string; readonly replacement: string }
  readonly at: Date
}

/**
 * Gives a device the configuration of another one, with its pictures and its place. The sweep of pictures removes the
 * files that are replaced.
 * @returns The replacement after the change.
 * @throws AppError invalid naming the field; conflict if the replaced device is moved at the same time.
 */
export async function takePlace(tx: Tx, scope: InOrg, taking: PlaceTaking): Promise<Device> {
  const { replaced, replacement, discard, at } = taking
  const { siteId, siteName } = placeOf(taking)
  const plan = planReplacement(replaced, replacement, discard)
  await assignToSite(tx, scope, { deviceIds: [replaced.id], siteId: null, settings: {}, at })
  await assignToSite(tx, scope, { deviceIds: [replacement.id], siteId, settings: {}, at })
  await updateDeviceRow(tx, scope, { id: replaced.id, ...copy(plan.replaced), at })
  await updateDeviceRow(tx, scope, { id: replacement.id, ...copy(plan.replacement), at })
  await moveDeviceImages(tx, scope, { from: replaced.id, to: replacement.id, numbers: plan.images })
  const left: Device = { ...replaced, ...copy(plan.replaced), siteId: null, siteName: null }
  const taken: Device = { ...replacement, ...copy(plan.replacement), siteId, siteName }
  const auditId = await appendAudit(tx, scope, {
    message: `Replace device ${replaced.name ?? replaced.mac} by ${replacement.mac}`,
    siteId,
    before: { devices: [describe(replaced), describe(replacement)] },
    after: { devices: [describe(left), describe(taken)] },
    at,
  })
  const deviceEvents = [
    // The event goes to the site that loses the device, because no other site would receive it.
    { device: deviceOfEvent(replaced), what: 'UNASSIGNED' as const, text: `replaced by ${taken.mac}`, auditId },
    { device: deviceOfEvent(taken), what: 'ASSIGNED' as const, text: `replaces ${left.mac}`, auditId },
  ]
  await appendDeviceEvents(tx, scope, deviceEvents, at)
  return taken
}

/** Returns the place if it can be taken. */
function placeOf({ replaced, replacement, place, fields }: PlaceTaking): Place {
  if (replaced.id === replacement.id) throw invalidField(fields.replacement, 'is the device that is to be replaced')
  if (replaced.siteId === null) throw invalidField(fields.replaced, 'has no place: no site has this device')
  if (replacement.siteId !== null) throw invalidField(fields.replacement, 'has a site already: unassign it first')
  if (replaced.type !== replacement.type)
    throw invalidField(fields.replacement, `is of type ${replacement.type}, not ${replaced.type}`)
  if (place?.siteId !== replaced.siteId || place.mapId !== replaced.doc['map_id'])
    throw new AppError('conflict', `Device ${replaced.mac} is just being moved: try again`)
  return place
}

function copy({ name, doc }: { readonly name: string | null; readonly doc: Readonly<Record<string, unknown>> }) {
  return { name, doc: { ...doc } }
}

function describe({ mac, name, siteId, doc }: Device): Record<string, unknown> {
  return { ...omitSecrets(doc), mac, ...(name !== null && { name }), ...(siteId !== null && { site_id: siteId }) }
}
