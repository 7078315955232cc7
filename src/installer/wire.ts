import { type Static, Type } from 'typebox'
import { plainMac } from '../devices/device.ts'
import { unsettable } from '../http/bodies/closed-bodies.ts'
import { type Conditions, filterQuery, parseFilters } from '../http/lists/filters.ts'
import { pageQuery } from '../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { textOf } from '../http/texts.ts'
import type { SiteKey } from '../orgs/installers/store.ts'
import { epochS } from '../platform/time/clock.ts'
import { invalidField } from '../platform/errors.ts'
import { installerDeviceFilters } from './filters.ts'
import type { Provision } from './provision-device.ts'
import type { InstallerDevice } from './store.ts'

export const deviceParams = { device_mac: textOf('mac') }
export const deviceImageParams = {
  ...deviceParams,
  image_name: Type.String({ description: 'image1, image2 or image3' }),
}

/** @param name One that the route admits: `image1` to `image3`. */
export function imageNumberOf(name: string): number {
  return Number(name.slice('image'.length))
}

/** Objects that are answered by their name only. */
export const NameReply = named('NamedObject', Type.Object({ id: Uuid, name: Type.String() }))

export const InstallerDevicesQuery = Type.Object({ ...pageQuery, ...filterQuery(installerDeviceFilters) })

/** @throws AppError invalid naming the field. */
export function parseFilter(query: Static<typeof InstallerDevicesQuery>): Conditions<typeof installerDeviceFilters> {
  return parseFilters(installerDeviceFilters, query)
}

/** Source: contract, `installer_device`; unknown values are left out. */
export const InstallerDeviceReply = named(
  'InstallerDevice',
  Type.Object({
    mac: Type.String(),
    serial: Type.String(),
    model: Type.String(),
    name: Type.String(),
    connected: Type.Boolean(),
    site_name: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    uptime: Type.Optional(Type.Integer({ description: 'seconds; only while it is connected' })),
    last_seen: Type.Optional(Timestamp),
    ip: Type.Optional(Type.String()),
    ext_ip: Type.Optional(Type.String()),
    vc_mac: Type.Optional(Type.String()),
    map_id: Type.Optional(Type.String()),
    x: Type.Optional(Type.Number()),
    y: Type.Optional(Type.Number()),
    height: Type.Optional(Type.Number()),
    orientation: Type.Optional(Type.Integer()),
  }),
)

export function presentDevice(device: InstallerDevice, now: Date): Static<typeof InstallerDeviceReply> {
  const { mac, serial, model, name, siteName, firmware, bootedAt, lastSeenAt, extIp, members, load, doc } = device
  const connected = device.connected === true
  const ip = load?.['ip']
  const { map_id: mapId, orientation } = doc
  return {
    mac,
    serial,
    model,
    name: name ?? '',
    connected,
    ...(siteName !== null && { site_name: siteName }),
    ...(firmware !== null && { version: firmware }),
    // At least one: clients take 0 for "unknown".
    ...(connected &&
      bootedAt !== null && { uptime: Math.max(1, Math.floor((now.getTime() - bootedAt.getTime()) / 1000)) }),
    ...(lastSeenAt !== null && { last_seen: epochS(lastSeenAt) }),
    ...(typeof ip === 'string' && { ip }),
    ...(extIp !== null && { ext_ip: extIp }),
    ...(members !== null && members.length > 1 && { vc_mac: mac }),
    ...(typeof mapId === 'string' && { map_id: mapId }),
    ...numbersOf(doc),
    ...(typeof orientation === 'number' && Number.isInteger(orientation) && { orientation }),
  }
}

/** Documents of devices are stored as received, so a coordinate may be a text, which is not a position. */
function numbersOf(doc: Readonly<Record<string, unknown>>): { x?: number; y?: number; height?: number } {
  const { x, y, height } = doc
  return {
    ...(typeof x === 'number' && { x }),
    ...(typeof y === 'number' && { y }),
    ...(typeof height === 'number' && { height }),
  }
}

const Name = Type.String({ maxLength: 200 })

/** Fields of a device's document that installers may change. */
const placed = ['map_id', 'x', 'y', 'height', 'orientation', 'role']

/** Source: contract, `installer_provision_device`. Empty texts count as missing. */
export const ProvisionBody = named(
  'DeviceProvision',
  Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: 200 }),
      site_id: Type.Optional(Uuid),
      site_name: Type.Optional(Name),
      map_id: Type.Optional(Uuid),
      x: Type.Optional(Type.Number({ description: 'pixels of the map' })),
      y: Type.Optional(Type.Number({ description: 'pixels of the map' })),
      height: Type.Optional(Type.Number({ description: 'meters' })),
      orientation: Type.Optional(Type.Integer({ description: 'degrees' })),
      role: Type.Optional(Name),
      replacing_mac: Type.Optional(
        textOf('macOrEmpty', { description: 'of the device that this one replaces, with its whole configuration' }),
      ),
      for_site: Type.Optional(
        Type.Boolean({ description: 'accepted without effect: `site_id` or `site_name` is the place of the device' }),
      ),
      deviceprofile_name: Type.Optional(Type.String({ description: 'there are none: only empty' })),
    },
    unsettable([...placed, 'replacing_mac', 'for_site', 'deviceprofile_name']),
  ),
)

/** @throws AppError invalid naming the field. */
export function parseProvision(deviceMac: string, body: Static<typeof ProvisionBody>): Provision {
  if (body.deviceprofile_name) throw invalidField('deviceprofile_name', 'there are no device profiles')
  const settable = new Set(placed.flatMap((name) => [name, `-${name}`]))
  return {
    mac: plainMac(deviceMac),
    replacing: replacingOf(body),
    name: body.name,
    site: siteKeyOf(body),
    mapId: body.map_id ?? null,
    placement: Object.fromEntries(Object.entries(body).filter(([name]) => settable.has(name))),
  }
}

function replacingOf({ replacing_mac: text }: Static<typeof ProvisionBody>): string | null {
  return text ? plainMac(text) : null
}

function siteKeyOf({ site_id: id, site_name: name }: Static<typeof ProvisionBody>): SiteKey | null {
  if (id !== undefined && name) throw invalidField('site_name', 'either this or site_id')
  if (id !== undefined) return { id }
  return name ? { name } : null
}
