import { takePlace } from '../devices/inventory/replace-device.ts'
import { type Place, sharePlaceOf } from '../devices/store-place.ts'
import { assignToSite, deviceOfEvent, updateDeviceRow } from '../devices/store.ts'
import { appendAudit, appendDeviceEvents } from '../events/append.ts'
import { mergeDocument, omitFields } from '../http/bodies/documents.ts'
import type { Installer } from '../orgs/installers/reach.ts'
import { type SiteKey, shareReachedSites } from '../orgs/installers/store.ts'
import { omitSecrets } from '../orgs/secrets/secrets.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/database/db.ts'
import { AppError, invalidField, notFound } from '../platform/errors.ts'
import { shareMap } from '../maps/store-share.ts'
import { type InstallerDevice, lockInstallerDevice } from './store.ts'

export interface Provision {
  /** In lower case without separators. */
  readonly mac: string
  /** MAC of the device that it replaces; null: none. */
  readonly replacing: string | null
  readonly name: string
  /** Null: the device stays at its site. */
  readonly site: SiteKey | null
  /** Null: the request names no map. */
  readonly mapId: string | null
  /** Further changes of its document, in wire shape; see mergeDocument(). */
  readonly placement: Readonly<Record<string, unknown>>
}

interface Site {
  readonly id: string
  readonly name: string
}

/** Fields that place a device on a map, which it loses when it leaves the site. */
const ON_THE_MAP = ['map_id', 'x', 'y']

/**
 * Names a device, assigns it to a site and records its position, in one change; if requested, in place of another
 * device.
 * @throws AppError not_found for the devices and the site; invalid for a map of another site and as takePlace();
 *   conflict if several sites have the name.
 */
export async function provisionDevice(ctx: Context, installer: Installer, provision: Provision): Promise<void> {
  await inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    // These rows are locked before the devices, in the common order, to prevent deadlocks.
    const place =
      provision.replacing === null ? undefined : await sharePlaceOf(tx, installer.scope, provision.replacing)
    const asked = provision.site === null ? null : await shareSite(tx, installer, provision.site)
    const map = provision.mapId === null ? null : await shareMap(tx, installer.scope, provision.mapId)
    const device = await (provision.replacing === null
      ? lockKnownDevice(tx, installer, provision.mac)
      : replace(tx, installer, { ...provision, replacing: provision.replacing, place, asked, at }))
    const site = asked ?? siteOf(device)
    if (map !== null && (map === undefined || map.siteId !== site?.id))
      throw invalidField('map_id', "no map of the device's site has this id")
    await write(tx, installer, { device, site, provision, at })
  })
}

async function lockKnownDevice(tx: Tx, installer: Installer, mac: string): Promise<InstallerDevice> {
  const device = await lockInstallerDevice(tx, installer, mac)
  if (device === undefined) throw notFound(mac)
  return device
}

interface Replacing {
  readonly mac: string
  readonly replacing: string
  readonly place: Place | undefined
  /** The site that the request names. */
  readonly asked: Site | null
  readonly at: Date
}

/** The installer must be allowed to work on both devices and on the site. @returns The replacement. */
async function replace(
  tx: Tx,
  installer: Installer,
  { mac, replacing, place, asked, at }: Replacing,
): Promise<InstallerDevice> {
  const { scope, reach } = installer
  if (place !== undefined && (await shareReachedSites(tx, scope, { reach, key: { id: place.siteId } })).length === 0)
    throw notFound(replacing)
  const locked = new Map<string, InstallerDevice>()
  // Devices are locked in one order everywhere.
  for (const one of [mac, replacing].toSorted()) locked.set(one, await lockKnownDevice(tx, installer, one))
  const [replacement, replaced] = [locked.get(mac), locked.get(replacing)]
  if (replacement === undefined || replaced === undefined) throw notFound(mac)
  if (asked !== null && asked.id !== replaced.siteId)
    throw invalidField('replacing_mac', 'is not of the site that the request names')
  const fields = { replaced: 'replacing_mac', replacement: 'replacing_mac' }
  const taken = await takePlace(tx, scope, { replaced, replacement, place, discard: [], fields, at })
  return { ...replacement, ...taken }
}

async function shareSite(tx: Tx, { scope, reach }: Installer, key: SiteKey): Promise<Site> {
  const [site, another] = await shareReachedSites(tx, scope, { reach, key })
  if (site === undefined) throw notFound('id' in key ? key.id : key.name)
  if (another !== undefined) throw new AppError('conflict', 'Several sites have this name: use site_id')
  return site
}

function siteOf({ siteId, siteName }: InstallerDevice): Site | null {
  return siteId === null ? null : { id: siteId, name: siteName ?? '' }
}

interface Change {
  readonly device: InstallerDevice
  readonly site: Site | null
  readonly provision: Provision
  readonly at: Date
}

async function write(tx: Tx, { scope }: Installer, { device, site, provision, at }: Change): Promise<void> {
  const { id, siteId } = device
  const { name, placement } = provision
  const moves = site !== null && site.id !== siteId
  const doc = mergeDocument(moves ? omitFields(device.doc, ON_THE_MAP) : device.doc, placement)
  if (moves) await assignToSite(tx, scope, { deviceIds: [id], siteId: site.id, settings: {}, at })
  await updateDeviceRow(tx, scope, { id, name, doc, at })
  const auditId = await appendAudit(tx, scope, {
    message: `Provision device ${name}`,
    siteId: site?.id ?? null,
    deviceId: id,
    before: { ...omitSecrets(device.doc), name: device.name, ...(siteId !== null && { site_id: siteId }) },
    after: { ...omitSecrets(doc), name, ...(site !== null && { site_id: site.id }) },
    at,
  })
  if (!moves) return
  const moved = { ...deviceOfEvent(device), name, siteId: site.id, siteName: site.name }
  await appendDeviceEvents(tx, scope, [{ device: moved, what: 'ASSIGNED', auditId }], at)
}

/** Removes a device from its site; it stays in the inventory. @throws AppError not_found. */
export async function unassignDevice(ctx: Context, installer: Installer, mac: string): Promise<void> {
  const { scope } = installer
  await inTx(ctx, async (tx) => {
    const device = await lockInstallerDevice(tx, installer, mac)
    if (device === undefined) throw notFound(mac)
    const { id, siteId } = device
    if (siteId === null) return
    const at = ctx.clock.now()
    await assignToSite(tx, scope, { deviceIds: [id], siteId: null, settings: {}, at })
    const auditId = await appendAudit(tx, scope, {
      message: `Unassign device ${mac}`,
      siteId,
      deviceId: id,
      before: { mac, site_id: siteId },
      after: { mac },
      at,
    })
    // The event goes to the site that loses the device, because no other site would receive it.
    await appendDeviceEvents(tx, scope, [{ device: deviceOfEvent(device), what: 'UNASSIGNED', auditId }], at)
  })
}
