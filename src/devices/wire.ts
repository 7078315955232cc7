import { type Static, type TSchema, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../http/lists/filters.ts'
import { pageQuery } from '../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { type Reveal, presentSecrets } from '../orgs/secrets/secrets.ts'
import { epochS } from '../platform/time/clock.ts'
import { invalidField } from '../platform/errors.ts'
import type { RestartParams } from './commands/command.ts'
import type { Device } from './store.ts'
import { siteDeviceFilters } from './filters.ts'

export const DeviceTypeName = named('DeviceType', Type.Enum(['ap', 'gateway', 'switch']))

/** The properties that every answer about one device begins with. */
export const identityFields = {
  id: Uuid,
  org_id: Uuid,
  site_id: Type.Optional(Uuid),
  mac: Type.String(),
  serial: Type.String(),
  model: Type.String(),
  type: DeviceTypeName,
  name: Type.String(),
}

type Identified = Pick<Device, 'id' | 'orgId' | 'siteId' | 'mac' | 'serial' | 'model' | 'type' | 'name'>

/** Clients require `type`; `name` is empty if none was given. */
export function presentIdentity({ id, orgId, siteId, mac, serial, model, type, name }: Identified) {
  return {
    id,
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    mac,
    serial,
    model,
    type,
    name: name ?? '',
  }
}

export const SiteDevicesQuery = Type.Object({ ...pageQuery, ...filterQuery(siteDeviceFilters) })

export function parseSiteDevices(query: Static<typeof SiteDevicesQuery>): Conditions<typeof siteDeviceFilters> {
  return parseFilters(siteDeviceFilters, { type: 'ap', ...query })
}

const NullableText = Type.Union([Type.String({ maxLength: 5000 }), Type.Null()])

const orNull = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))

/** The rest of a device's document is stored as received. */
export const UpdateDeviceBody = named(
  'DeviceUpdate',
  Type.Object(
    {
      name: Type.Optional(Type.Union([Type.String({ maxLength: 200 }), Type.Null()])),
      notes: Type.Optional(NullableText),
      map_id: orNull(Uuid),
      x: orNull(Type.Number({ description: 'pixels from the left of the map' })),
      y: orNull(Type.Number({ description: 'pixels from the top of the map' })),
      height: orNull(Type.Number({ description: 'meters above the floor' })),
      orientation: orNull(Type.Integer({ minimum: 0, maximum: 359, description: 'degrees' })),
      role: orNull(
        Type.String({ maxLength: 200, description: 'the value that `match_role` in `rules` of upgrades matches' }),
      ),
      vars: orNull(Type.Record(Type.String(), Type.Unknown())),
    },
    { additionalProperties: true },
  ),
)

export const DeviceReply = named(
  'Device',
  Type.Object(
    {
      ...identityFields,
      image1_url: Type.Optional(Type.String({ description: 'works for one to two hours' })),
      image2_url: Type.Optional(Type.String()),
      image3_url: Type.Optional(Type.String()),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

export interface Presenting {
  /** Returns the address of a picture, given the name of its file. */
  readonly urlOf: (image: string) => string
  /** People store passwords in documents of devices. */
  readonly reveal: Reveal
}

export function presentDevice(device: Device, { urlOf, reveal }: Presenting): Static<typeof DeviceReply> {
  return {
    ...presentSecrets(device.doc, reveal),
    ...presentIdentity(device),
    ...presentImages(device.images ?? {}, urlOf),
    created_time: epochS(device.createdAt),
    modified_time: epochS(device.modifiedAt),
  }
}

function presentImages(
  images: Readonly<Record<string, string>>,
  urlOf: (image: string) => string,
): { image1_url?: string; image2_url?: string; image3_url?: string } {
  return Object.fromEntries(Object.entries(images).map(([number, image]) => [`image${number}_url`, urlOf(image)]))
}

/** Source: spec, "Device restart request". */
export const RestartBody = named(
  'DeviceRestart',
  Type.Object({
    member: Type.Optional(Type.Integer({ minimum: 0, maximum: 9, description: 'of a Virtual Chassis' })),
    node: Type.Optional(Type.Enum(['node0', 'node1'], { description: 'of a cluster; without it, both' })),
  }),
)

/** @throws AppError invalid naming `node`. */
export function parseRestart({ member, node }: Static<typeof RestartBody>): RestartParams {
  if (member !== undefined && node !== undefined)
    throw invalidField('node', `is ${node} beside member ${member}: only one of the two can be restarted`)
  return { ...(member !== undefined && { member }), ...(node !== undefined && { node }) }
}

/** Source: contract, `OrgDevices`. */
export const DeviceNamesReply = named(
  'DeviceNames',
  Type.Object({
    results: Type.Array(named('DeviceName', Type.Object({ mac: Type.String(), name: Type.String() }))),
  }),
)
