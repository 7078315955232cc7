import { type Static, Type } from 'typebox'
import { type Page, pageQuery, parsePage } from '../../http/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { parseSort, parseTimeRange, searchQuery, searchReplyOf } from '../../http/search.ts'
import { epochS } from '../../platform/clock.ts'
import type { EventDistinct, EventFilter, EventSearch, MxedgeEventRecord } from './store.ts'

const filters = {
  ...searchQuery,
  mxedge_id: Type.Optional(Uuid),
  mxcluster_id: Type.Optional(Uuid),
  type: Type.Optional(Type.String()),
  service: Type.Optional(Type.String()),
}

export const EventSearchQuery = Type.Object({
  ...filters,
  ...pageQuery,
  component: Type.Optional(Type.String()),
  sort: Type.Optional(Type.Enum(['timestamp', '-timestamp'], { default: '-timestamp' })),
})

export const EventCountQuery = Type.Object({
  ...filters,
  limit: pageQuery.limit,
  distinct: Type.Optional(Type.Enum(['mxcluster_id', 'mxedge_id', 'package', 'type'], { default: 'mxedge_id' })),
})

/** The members of the topic `mxedge-events`. */
const EventReply = named(
  'MxedgeEvent',
  Type.Object(
    {
      type: Type.String(),
      mxedge_id: Uuid,
      mxedge_name: Type.Optional(Type.String()),
      device_type: Type.Optional(Type.String()),
      org_id: Uuid,
      site_id: Type.Optional(Uuid),
      mxcluster_id: Type.Optional(Uuid),
      mac: Type.Optional(Type.String()),
      audit_id: Type.Optional(Uuid),
      text: Type.Optional(Type.String()),
      timestamp: Timestamp,
    },
    { additionalProperties: true },
  ),
)

const { properties } = searchReplyOf(EventReply)
export const EventSearchReply = named('MxedgeEventSearchResult', Type.Object({ ...properties, page: Type.Integer() }))

type FilterQuery = Omit<Static<typeof EventSearchQuery>, 'limit' | 'page' | 'sort'>

function parseFilter(query: FilterQuery, now: Date): EventFilter {
  const { mxedge_id: mxedgeId, mxcluster_id: mxclusterId, type, service, component } = query
  return {
    ...parseTimeRange(query, now),
    ...(mxedgeId !== undefined && { mxedgeId }),
    ...(mxclusterId !== undefined && { mxclusterId }),
    ...(type !== undefined && { type }),
    ...(service !== undefined && { service }),
    ...(component !== undefined && { component }),
  }
}

export function parseEventSearch(query: Static<typeof EventSearchQuery>, now: Date): EventSearch {
  const { direction } = parseSort(query.sort ?? '-timestamp')
  return { ...parseFilter(query, now), ...parsePage(query), direction }
}

export function parseEventCount(
  { distinct = 'mxedge_id', ...query }: Static<typeof EventCountQuery>,
  now: Date,
): EventFilter & Pick<Page, 'limit'> & { readonly distinct: EventDistinct } {
  return { ...parseFilter(query, now), limit: parsePage(query).limit, distinct }
}

/** Presents the event as webhooks received it. */
export function presentEvent({
  orgId,
  mxedgeId,
  type,
  event,
  createdAt,
}: MxedgeEventRecord): Static<typeof EventReply> {
  return { ...event, type, mxedge_id: mxedgeId, org_id: orgId, timestamp: epochS(createdAt) }
}
