import { type Static, Type } from 'typebox'
import { pageQuery } from '../http/lists.ts'
import { SiteParams, Timestamp, Uuid } from '../http/schemas.ts'
import { epochS } from '../platform/clock.ts'
import type { RestartParams } from './commands/command.ts'
import type { DeviceType } from './device.ts'
import type { Device } from './store.ts'
import type { SiteDeviceFilter } from './inventory/store.ts'

export const DeviceParams = Type.Object({ ...SiteParams.properties, device_id: Uuid })

export const DeviceTypeName = Type.Enum(['ap', 'gateway', 'switch'])
/** An access point where it is not said. Source: contract, `device_type_with_all`. */
export const DeviceTypeOrAll = Type.Enum(['all', 'ap', 'gateway', 'switch'], { default: 'ap' })

export function parseType(type: Static<typeof DeviceTypeOrAll> = 'ap'): DeviceType | null {
  return type === 'all' ? null : type
}

export const SiteDevicesQuery = Type.Object({
  ...pageQuery,
  type: Type.Optional(DeviceTypeOrAll),
  name: Type.Optional(Type.String({ description: 'part of the name, in any case' })),
})

export function parseSiteDevices({ type, name }: Static<typeof SiteDevicesQuery>): SiteDeviceFilter {
  return { type: parseType(type), name: name ?? null }
}

const NullableText = Type.Union([Type.String({ maxLength: 5000 }), Type.Null()])

/** Whatever else a device's document holds is kept as it comes. */
export const UpdateDeviceBody = Type.Object(
  {
    name: Type.Optional(Type.Union([Type.String({ maxLength: 200 }), Type.Null()])),
    notes: Type.Optional(NullableText),
  },
  { additionalProperties: true },
)

export const DeviceReply = Type.Object(
  {
    id: Uuid,
    org_id: Uuid,
    site_id: Type.Optional(Uuid),
    mac: Type.String(),
    serial: Type.String(),
    model: Type.String(),
    type: DeviceTypeName,
    name: Type.String(),
    created_time: Timestamp,
    modified_time: Timestamp,
  },
  { additionalProperties: true },
)

/** Clients need `type`; `name` is empty where none was given. */
export function presentDevice(device: Device): Static<typeof DeviceReply> {
  const { doc, id, orgId, siteId, mac, serial, model, type, name, createdAt, modifiedAt } = device
  return {
    ...doc,
    id,
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    mac,
    serial,
    model,
    type,
    name: name ?? '',
    created_time: epochS(createdAt),
    modified_time: epochS(modifiedAt),
  }
}

/** Source: spec, "Device restart request". */
export const RestartBody = Type.Object(
  {
    member: Type.Optional(Type.Integer({ minimum: 0, maximum: 9, description: 'of a Virtual Chassis' })),
    node: Type.Optional(Type.Enum(['node0', 'node1'], { description: 'of a cluster; without it, both' })),
  },
  { additionalProperties: true },
)

export function parseRestart({ member, node }: Static<typeof RestartBody>): RestartParams {
  return { ...(member !== undefined && { member }), ...(node !== undefined && { node }) }
}

/** Source: contract, `OrgDevices`. */
export const DeviceNamesReply = Type.Object({
  results: Type.Array(Type.Object({ mac: Type.String(), name: Type.String() })),
})
