import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { SiteGroup } from './site-group.ts'

const Name = Type.String({ minLength: 1, maxLength: 200 })
const siteIds = {
  site_ids: Type.Optional(
    Type.Array(Uuid, { maxItems: 10_000, description: 'the same relation as `sitegroup_ids` of these sites' }),
  ),
}

export const CreateSiteGroupBody = named(
  'SiteGroupCreate',
  Type.Object({ name: Name, ...siteIds }, { additionalProperties: true }),
)
export const UpdateSiteGroupBody = named(
  'SiteGroupUpdate',
  Type.Object({ name: Type.Optional(Name), ...siteIds }, { additionalProperties: true }),
)
export const SiteGroupReply = named(
  'SiteGroup',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      name: Type.String(),
      site_ids: Type.Array(Uuid),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

export function presentSiteGroup(group: SiteGroup): Static<typeof SiteGroupReply> {
  return {
    ...group.doc,
    id: group.id,
    org_id: group.orgId,
    name: group.name,
    site_ids: [...group.siteIds],
    created_time: epochS(group.createdAt),
    modified_time: epochS(group.modifiedAt),
  }
}
