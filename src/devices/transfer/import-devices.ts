import type { Document } from '../../platform/document.ts'
import { isDeepStrictEqual } from 'node:util'
import type { SiteScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { omitSecrets } from '../../orgs/secrets.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/db.ts'
import { type DeviceChange, changeDevice } from '../change-device.ts'
import { countOf } from '../inventory/claim-devices.ts'
import { type Device, lockDevicesBy } from '../store.ts'
import { shareMapsOfSite } from '../../maps/store-share.ts'
import { updateDevices } from './store.ts'

export interface ImportItem {
  /** The name of the item in errors. */
  readonly name: string
  /** In lower case without separators. */
  readonly mac: string
  /** In wire shape, checked, as updateDeviceRow() takes it. */
  readonly change: Readonly<Record<string, unknown>>
}

export interface ImportRefusal {
  readonly name: string
  readonly reason: string
}

/** Either all items are imported, or none. */
export type ImportOutcome =
  | { readonly devices: readonly Device[] }
  | { readonly refused: readonly [ImportRefusal, ...ImportRefusal[]] }

/**
 * Updates devices of a site, each as an update of that device would. An item that changes nothing leaves no trace.
 * @returns The devices in the order of the items.
 */
export function importDevices(ctx: Context, scope: SiteScope, items: readonly ImportItem[]): Promise<ImportOutcome> {
  return inTx(ctx, async (tx) => {
    const wanted = items.map(({ change }) => change['map_id'])
    // Maps are locked before the devices, as when a map is deleted.
    const maps = await shareMapsOfSite(tx, scope, { siteId: scope.siteId, mapIds: wanted })
    const locked = await lockDevicesBy(tx, scope, { macs: items.map(({ mac }) => mac), serials: [] })
    const devices = new Map(locked.map((device) => [device.mac, device]))
    const [refusal, ...refusals] = refusalsOf(items, { devices, maps })
    if (refusal !== undefined) return { refused: [refusal, ...refusals] }
    const at = ctx.clock.now()
    const changes = items.flatMap(({ mac, change }) => {
      const device = devices.get(mac)
      return device === undefined ? [] : [{ device, ...changeDevice(device, change) }]
    })
    await write(tx, scope, { changes: changes.filter(differs), at })
    return { devices: changes.map((change) => deviceAfter(change, at)) }
  })
}

interface Known {
  readonly devices: ReadonlyMap<string, Device>
  /** In lower case. */
  readonly maps: ReadonlySet<string>
}

function refusalsOf(items: readonly ImportItem[], { devices, maps }: Known): ImportRefusal[] {
  const seen = new Set<string>()
  return items.flatMap(({ name, mac, change }) => {
    const again = seen.has(mac)
    seen.add(mac)
    const mapId = change['map_id']
    if (again) return [{ name, reason: 'mac: is there twice' }]
    if (!devices.has(mac)) return [{ name, reason: 'mac: no device of this site has it' }]
    if (typeof mapId === 'string' && !maps.has(mapId.toLowerCase()))
      return [{ name, reason: 'map_id: no map of this site has this id' }]
    return []
  })
}

type Change = DeviceChange & { readonly device: Device }

function differs({ before, after }: Change): boolean {
  return !isDeepStrictEqual(before, after)
}

function deviceAfter(change: Change, at: Date): Device {
  const { device, name, doc } = change
  return differs(change) ? { ...device, name, doc, modifiedAt: at } : device
}

async function write(
  tx: Tx,
  scope: SiteScope,
  { changes, at }: { readonly changes: readonly Change[]; readonly at: Date },
): Promise<void> {
  if (changes.length === 0) return
  const devices = changes.map(({ device: { id }, name, doc }) => ({ id, name, doc }))
  await updateDevices(tx, scope, { devices, at })
  await appendAudit(tx, scope, {
    message: `Import ${countOf(changes.map(({ device }) => device.mac))}`,
    siteId: scope.siteId,
    before: { devices: changes.map(({ device, before, after }) => differenceOf(device, before, after)) },
    after: { devices: changes.map(({ device, before, after }) => differenceOf(device, after, before)) },
    at,
  })
}

/** Returns the fields of `document` that differ in `other`. */
function differenceOf({ mac }: Device, document: Document, other: Document): Document {
  const changed = Object.entries(document).filter(([key, value]) => !isDeepStrictEqual(value, other[key]))
  return { ...omitSecrets(Object.fromEntries(changed)), mac }
}
