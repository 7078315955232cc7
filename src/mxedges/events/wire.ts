import { type Static, Type } from 'typebox'
import { filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { type Page, parsePage } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import {
  distinctParameter,
  parseSort,
  parseTimeRange,
  searchReplyOf,
  sortParameter,
  countQuery,
  pagedSearchQuery,
} from '../../http/lists/search.ts'
import { epochS } from '../../platform/time/clock.ts'
import { countFilters, counts, eventSorts, searchFilters } from './filters.ts'
import type { EventDistinct, EventFilter, EventSearch, MxedgeEventRecord } from './store.ts'

export const EventSearchQuery = Type.Object({
  ...pagedSearchQuery,
  ...filterQuery(searchFilters),
  sort: sortParameter(eventSorts, '-timestamp'),
})

export const EventCountQuery = Type.Object({
  ...countQuery,
  ...filterQuery(countFilters),
  distinct: distinctParameter(counts, 'mxedge_id'),
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
      service: Type.Optional(Type.String()),
      component: Type.Optional(Type.String({ description: 'the part of the appliance, such as `port 0, port 1`' })),
      package: Type.Optional(Type.String()),
      from_version: Type.Optional(Type.String()),
      to_version: Type.Optional(Type.String()),
      text: Type.Optional(Type.String()),
      timestamp: Timestamp,
    },
    { additionalProperties: true },
  ),
)

const { properties } = searchReplyOf(EventReply)
export const EventSearchReply = named('MxedgeEventSearchResult', Type.Object({ ...properties, page: Type.Integer() }))

/** @throws AppError invalid naming the field. */
export function parseEventSearch(query: Static<typeof EventSearchQuery>, now: Date): EventSearch & Page {
  return {
    ...parseTimeRange(query, now),
    ...parsePage(query),
    conditions: parseFilters(searchFilters, query),
    sort: parseSort(query.sort ?? '-timestamp'),
  }
}

/** @throws AppError invalid naming the field. */
export function parseEventCount(
  query: Static<typeof EventCountQuery>,
  now: Date,
): EventFilter & Pick<Page, 'limit'> & { readonly distinct: EventDistinct } {
  return {
    ...parseTimeRange(query, now),
    conditions: parseFilters(countFilters, query),
    limit: parsePage(query).limit,
    distinct: query.distinct ?? 'mxedge_id',
  }
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
