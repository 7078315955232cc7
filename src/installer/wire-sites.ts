import { type Static, Type } from 'typebox'
import { isUnset, unsettable } from '../http/bodies/closed-bodies.ts'
import { Uuid, named } from '../http/schemas.ts'
import type { InstallerSite } from '../orgs/installers/store.ts'
import { invalidField } from '../platform/errors.ts'
import type { SiteDefinition } from './upsert-site.ts'

const LatLng = Type.Object({
  lat: Type.Number({ minimum: -90, maximum: 90 }),
  lng: Type.Number({ minimum: -180, maximum: 180 }),
})
const Name = Type.String({ minLength: 1, maxLength: 200 })

/** Source: contract, `installer_site`. */
export const SiteBody = named(
  'InstallerSiteUpdate',
  Type.Object(
    {
      id: Type.Optional(Uuid),
      name: Name,
      address: Type.String({ maxLength: 1000 }),
      country_code: Type.String({ maxLength: 200 }),
      latlng: LatLng,
      timezone: Type.Optional(Type.String({ description: 'IANA zone name, default UTC' })),
      sitegroup_names: Type.Optional(Type.Array(Name, { maxItems: 1000, description: 'of groups that exist' })),
      rftemplate_name: Type.Optional(Type.String({ description: 'there are none: only empty' })),
    },
    unsettable(['id', 'timezone', 'sitegroup_names', 'rftemplate_name']),
  ),
)

/** @throws AppError invalid naming the field. */
export function parseSite(siteName: string, body: Static<typeof SiteBody>): SiteDefinition {
  if (body.rftemplate_name) throw invalidField('rftemplate_name', 'there are no RF templates')
  const { name, address, country_code, latlng, timezone, sitegroup_names: groupNames } = body
  return {
    siteName,
    id: body.id ?? null,
    body: {
      ...{ name, address, country_code, latlng },
      ...(timezone && { timezone }),
      ...(isUnset(body, 'timezone') && { '-timezone': '' }),
    },
    groupNames: isUnset(body, 'sitegroup_names') ? [] : (groupNames ?? null),
  }
}

export const SiteReply = named(
  'InstallerSite',
  Type.Object({
    id: Uuid,
    name: Type.String(),
    address: Type.String({ description: 'empty where none was given' }),
    country_code: Type.String({ description: 'empty where none was given' }),
    latlng: Type.Object({ lat: Type.Number(), lng: Type.Number() }, { description: '0, 0 where none was given' }),
    timezone: Type.String(),
    sitegroup_names: Type.Array(Type.String()),
  }),
)

/** Clients fail where a required member is missing, hence the empty ones. */
export function presentSite({ id, name, timezone, doc, sitegroupNames }: InstallerSite): Static<typeof SiteReply> {
  const { address, country_code: country, latlng } = doc
  return {
    id,
    name,
    address: typeof address === 'string' ? address : '',
    country_code: typeof country === 'string' ? country : '',
    latlng: isLatLng(latlng) ? { lat: latlng.lat, lng: latlng.lng } : { lat: 0, lng: 0 },
    timezone,
    sitegroup_names: [...sitegroupNames],
  }
}

function isLatLng(value: unknown): value is { lat: number; lng: number } {
  return typeof value === 'object' && value !== null && 'lat' in value && 'lng' in value
}
