import { IANAZone } from 'luxon'
import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { epochS } from '../platform/time/clock.ts'
import type { Org } from './store.ts'
import type { Site } from './sites/store.ts'

const Name = Type.String({ minLength: 1, maxLength: 200 })

/** The id of an object that Signalbox does not have, stored as received. */
const KeptId = Type.Optional(Type.Union([Uuid, Type.Null()]))

const orgFields = {
  alarmtemplate_id: KeptId,
  orggroup_ids: Type.Optional(Type.Array(Uuid)),
  allow_mist: Type.Optional(Type.Boolean()),
  session_expiry: Type.Optional(Type.Integer({ minimum: 10, maximum: 20160, description: 'minutes, default 1440' })),
}

export const CreateOrgBody = named(
  'OrgCreate',
  Type.Object({ name: Name, ...orgFields }, { additionalProperties: true }),
)
export const UpdateOrgBody = named(
  'OrgUpdate',
  Type.Object({ name: Type.Optional(Name), ...orgFields }, { additionalProperties: true }),
)
export const CloneOrgBody = named('OrgClone', Type.Object({ name: Type.Optional(Name) }))
export const OrgReply = named(
  'Org',
  Type.Object(
    {
      ...orgFields,
      id: Uuid,
      name: Type.String(),
      allow_mist: Type.Boolean(),
      session_expiry: Type.Integer(),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

export const LatLng = named('LatLng', Type.Object({ lat: Type.Number(), lng: Type.Number() }))

const siteFields = {
  timezone: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'IANA zone name, default UTC' })),
  notes: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  address: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  country_code: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  latlng: Type.Optional(Type.Union([LatLng, Type.Null()])),
  sitegroup_ids: Type.Optional(Type.Array(Uuid, { description: 'groups need not exist' })),
  alarmtemplate_id: KeptId,
  aptemplate_id: KeptId,
  gatewaytemplate_id: KeptId,
  networktemplate_id: KeptId,
  rftemplate_id: KeptId,
  routertemplate_id: KeptId,
  secpolicy_id: KeptId,
  sitetemplate_id: KeptId,
  tzoffset: Type.Optional(Type.Integer({ description: 'ignored: `timezone` decides it' })),
}

export const CreateSiteBody = named(
  'SiteCreate',
  Type.Object({ name: Name, ...siteFields }, { additionalProperties: true }),
)
export const UpdateSiteBody = named(
  'SiteUpdate',
  Type.Object({ name: Type.Optional(Name), ...siteFields }, { additionalProperties: true }),
)
export const SiteReply = named(
  'Site',
  Type.Object(
    {
      ...siteFields,
      country_code: Type.Optional(Type.String()),
      latlng: Type.Optional(LatLng),
      id: Uuid,
      org_id: Uuid,
      name: Type.String(),
      timezone: Type.String(),
      tzoffset: Type.Integer({ description: 'minutes that `timezone` is ahead of UTC now' }),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

export function presentOrg(org: Org): Static<typeof OrgReply> {
  return {
    allow_mist: false,
    session_expiry: 1440,
    ...org.doc,
    id: org.id,
    name: org.name,
    created_time: epochS(org.createdAt),
    modified_time: epochS(org.modifiedAt),
  }
}

/** The clocks of a zone change at these times of UTC only. */
const QUARTER_HOUR_MS = 15 * 60_000
let offsets = { since: 0, ofZones: new Map<string, number>() }

/** Returns the offset of a zone in minutes. It is slow to find, and sites share few zones. */
function offsetAt(now: Date, zone: string): number {
  const since = Math.floor(now.getTime() / QUARTER_HOUR_MS)
  if (offsets.since !== since) offsets = { since, ofZones: new Map() }
  const offset = offsets.ofZones.get(zone) ?? IANAZone.create(zone).offset(now.getTime())
  offsets.ofZones.set(zone, offset)
  return offset
}

/** Returns the presenter of sites at a time. */
export function presentSiteAt(now: Date): (site: Site) => Static<typeof SiteReply> {
  return (site) => {
    const tzoffset = offsetAt(now, site.timezone)
    return {
      ...{ notes: '', ...site.doc },
      id: site.id,
      org_id: site.orgId,
      name: site.name,
      timezone: site.timezone,
      tzoffset,
      created_time: epochS(site.createdAt),
      modified_time: epochS(site.modifiedAt),
    }
  }
}
