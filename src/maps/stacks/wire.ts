import { type Static, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { pageQuery } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import { stackFilters } from '../filters.ts'
import type { MapStack } from './store.ts'

export const MapStackBody = named(
  'MapStackCreate',
  Type.Object({ name: Type.Optional(Type.String({ maxLength: 500 })) }, { additionalProperties: true }),
)

export const MapStacksQuery = Type.Object({
  ...pageQuery,
  ...filterQuery(stackFilters),
})

/** @throws AppError invalid naming the field. */
export function parseMapStacks(query: Static<typeof MapStacksQuery>): Conditions<typeof stackFilters> {
  return parseFilters(stackFilters, query)
}

/** Source: addendum, `listSiteMapStacks`. */
export const MapStackReply = named(
  'MapStack',
  Type.Object(
    {
      id: Uuid,
      org_id: Uuid,
      site_id: Uuid,
      name: Type.String(),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    { additionalProperties: true },
  ),
)

export function presentMapStack(stack: MapStack): Static<typeof MapStackReply> {
  const { doc, id, orgId, siteId, name, createdAt, modifiedAt } = stack
  return {
    ...doc,
    id,
    org_id: orgId,
    site_id: siteId,
    name,
    created_time: epochS(createdAt),
    modified_time: epochS(modifiedAt),
  }
}
