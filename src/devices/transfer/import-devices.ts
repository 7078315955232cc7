import type { Document } from '../../platform/json/document.ts'
import { isDeepStrictEqual } from 'node:util'
import type { SiteScope } from '../../access/scope.ts'
import { appendAudit, appendDeviceEvents } from '../../events/append.ts'
import { assertReadOnly } from '../../http/read-only-fields.ts'
import { omitSecrets } from '../../orgs/secrets/secrets.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { type DeviceChange, changeDevice } from '../change-device.ts'
import { macOfDeviceId } from '../device.ts'
import { describeMacs } from '../inventory/named-devices.ts'
import { type Device, deviceOfEvent, lockDevicesBy } from '../store.ts'
import { shareMapsOfSite } from '../../maps/store-share.ts'
import { updateDevices } from './store.ts'

/** The identity of the device of an item. MACs are in lower case without separators. */
export type ImportKey = { readonly field: 'mac' | 'id' | 'serial'; readonly value: string }

export interface ImportItem {
  /** The name of the item in errors. */
  readonly name: string
  readonly key: ImportKey
  /** In wire shape, checked, as changeDevice() takes it. */
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

export interface ImportRequest {
  readonly items: readonly ImportItem[]
  /** Presents a device as answers show it. */
  readonly present: (device: Device) => unknown
}

/**
 * Updates devices of a site, each as an update of that device would. An item that changes nothing leaves no trace.
 * @returns The devices in the order of the items.
 */
export function importDevices(
  ctx: Context,
  scope: SiteScope,
  { items, present }: ImportRequest,
): Promise<ImportOutcome> {
  return inTx(ctx, async (tx) => {
    const wanted = items.map(({ change }) => change['map_id'])
    // Maps are locked before the devices, as when a map is deleted.
    const maps = await shareMapsOfSite(tx, scope, { siteId: scope.siteId, mapIds: wanted })
    const devices = await lockDevicesOf(tx, scope, items)
    const [refusal, ...refusals] = refusalsOf(items, { devices, maps, present })
    if (refusal !== undefined) return { refused: [refusal, ...refusals] }
    const at = ctx.clock.now()
    const changes = items.flatMap(({ key, change }) => {
      const [device] = devicesOf(devices, key)
      return device === undefined ? [] : [{ device, ...changeDevice(device, change) }]
    })
    await write(tx, scope, { changes: changes.filter(differs), at })
    return { devices: changes.map((change) => deviceAfter(change, at)) }
  })
}

/** Devices by each field that identifies them, with its value. Hardware of different makers may have one serial number. */
type KnownDevices = ReadonlyMap<string, readonly Device[]>

async function lockDevicesOf(tx: Tx, scope: SiteScope, items: readonly ImportItem[]): Promise<KnownDevices> {
  const valuesOf = (name: ImportKey['field']): string[] =>
    items.flatMap(({ key: { field, value } }) => (field === name ? [value] : []))
  const macs = [...valuesOf('mac'), ...valuesOf('id').map(macOfDeviceId)]
  const locked = await lockDevicesBy(tx, scope, { macs, serials: valuesOf('serial') })
  const fields = ['mac', 'id', 'serial'] as const
  const keyed = locked.flatMap((device) =>
    fields.map((field) => ({ device, key: keyText({ field, value: device[field] }) })),
  )
  const groups = Map.groupBy(keyed, ({ key }) => key)
  return new Map([...groups].map(([key, group]) => [key, group.map(({ device }) => device)]))
}

function keyText({ field, value }: ImportKey): string {
  return `${field} ${value}`
}

function devicesOf(devices: KnownDevices, key: ImportKey): readonly Device[] {
  return devices.get(keyText(key)) ?? []
}

interface Known extends Pick<ImportRequest, 'present'> {
  readonly devices: KnownDevices
  /** In lower case. */
  readonly maps: ReadonlySet<string>
}

function refusalsOf(items: readonly ImportItem[], { devices, maps, present }: Known): ImportRefusal[] {
  const seen = new Set<string>()
  return items.flatMap(({ name, key, change }) => {
    const [device, ...others] = devicesOf(devices, key)
    if (device === undefined) return [{ name, reason: `${key.field}: no device of this site has it` }]
    if (others.length > 0) return [{ name, reason: `${key.field}: several devices of this site have it` }]
    const again = seen.has(device.id)
    seen.add(device.id)
    if (again) return [{ name, reason: `${key.field}: is there twice` }]
    const mapId = change['map_id']
    if (typeof mapId === 'string' && !maps.has(mapId.toLowerCase()))
      return [{ name, reason: 'map_id: no map of this site has this id' }]
    const reason = reasonAgainst(() => assertReadOnly('Device', change, present(device)))
    return reason === null ? [] : [{ name, reason }]
  })
}

/** Returns field and reason of the refusal that `assert` throws; null if it throws none. */
export function reasonAgainst(assert: () => void): string | null {
  try {
    assert()
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return error.message.replace('Invalid field ', '')
  }
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
  const auditId = await appendAudit(tx, scope, {
    message: `Import ${describeMacs(changes.map(({ device }) => device.mac))}`,
    siteId: scope.siteId,
    before: { devices: changes.map(({ device, before, after }) => differenceOf(device, before, after)) },
    after: { devices: changes.map(({ device, before, after }) => differenceOf(device, after, before)) },
    at,
  })
  const events = changes.map(({ device, name }) => ({
    device: { ...deviceOfEvent(device), name },
    what: 'CONFIG_CHANGED_BY_USER' as const,
    auditId,
  }))
  await appendDeviceEvents(tx, scope, events, at)
}

/** Returns the fields of `document` that differ in `other`. */
function differenceOf({ mac }: Device, document: Document, other: Document): Document {
  const changed = Object.entries(document).filter(([key, value]) => !isDeepStrictEqual(value, other[key]))
  return { ...omitSecrets(Object.fromEntries(changed)), mac }
}
