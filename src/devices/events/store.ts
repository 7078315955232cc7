import { type RawBuilder, sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import type { TopicEvents } from '../../events/topics.ts'
import type { Page, Paged } from '../../http/lists.ts'
import type { Counts } from '../../http/search.ts'
import { largeOf } from '../../http/store-bounds.ts'
import { countsOf, pageOf } from '../../http/store-pages.ts'
import { type Reader, anyOf, containing } from '../../platform/db.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { deviceIdOf } from '../device.ts'
import { allOf } from '../store-lists.ts'

/** A null admits everything. */
export interface EventFilter {
  readonly start: Date
  readonly end: Date
  readonly siteId: string | null
  readonly type: DeviceType | null
  /** An event's device must have all of these MACs. */
  readonly macs: readonly string[]
  /** The device's present model. */
  readonly model: string | null
  /** Part of the text, in any case. */
  readonly text: string | null
  /** Epoch seconds: events within that second. */
  readonly second: number | null
  readonly types: readonly string[] | null
}

export interface EventSearch {
  readonly filter: EventFilter
  readonly direction: 'asc' | 'desc'
}

export interface FoundEvent {
  readonly id: string
  readonly orgId: string
  readonly siteId: string | null
  readonly event: TopicEvents['device-events']
  readonly createdAt: Date
}

/** Lists events by time, and by id within one instant. */
export function searchEvents(
  reader: Reader,
  scope: SitesScope,
  { filter, direction, page }: EventSearch & { readonly page: Page },
): Promise<Paged<FoundEvent>> {
  const where = conditions(scope, filter)
  return pageOf<FoundEvent>(
    reader,
    {
      hits: sql`select event.id, event.org_id, event.site_id, event.event, event.created_at
        from ${events(filter)} where ${where}`,
      order: ['created_at', 'id'],
      direction,
      sizes: largeOf(events(filter), sql`event.event_bytes`, { where }),
    },
    page,
  )
}

/** The fields by which events are counted. */
export type EventField = 'ap' | 'mac' | 'model' | 'org_id' | 'site_id' | 'text' | 'timestamp' | 'type'

const fields: Readonly<Record<EventField, RawBuilder<unknown>>> = {
  ap: sql`event.event ->> 'ap'`,
  mac: sql`event.event ->> 'mac'`,
  model: sql`device.model`,
  org_id: sql`event.org_id`,
  site_id: sql`event.site_id`,
  // A count answers up to a thousand texts, and a device's text may be very long.
  text: sql`left(event.event ->> 'text', 1000)`,
  // Clients expect the values of counts as texts.
  timestamp: sql`(extract(epoch from event.created_at)::float8)::text`,
  type: sql`event.type`,
}

export interface EventCountQuery {
  readonly filter: EventFilter
  /** Null: a field that no event has. */
  readonly field: EventField | null
  readonly limit: number
}

export async function countEvents(
  reader: Reader,
  scope: SitesScope,
  { filter, field, limit }: EventCountQuery,
): Promise<Counts> {
  if (field === null) return { rows: [], total: 0 }
  const from = field === 'model' ? withDevices : events(filter)
  const hits = sql`select ${fields[field]} as value from ${from} where ${conditions(scope, filter)}`
  return countsOf(reader, hits, { field: sql`hit.value`, limit })
}

const withDevices = sql`device_event event
  left join device on device.org_id = event.org_id and device.id = event.device_id`

function events({ model }: EventFilter): RawBuilder<unknown> {
  return model === null ? sql`device_event event` : withDevices
}

function conditions(scope: SitesScope, filter: EventFilter): RawBuilder<unknown> {
  const { start, end, siteId, type, macs, model, text, second, types } = filter
  return allOf([
    sql`event.org_id = ${scope.orgId} and event.created_at >= ${start} and event.created_at <= ${end}`,
    inSites(scope, sql`event.site_id`),
    ...(siteId === null ? [] : [sql`event.site_id = ${siteId}`]),
    ...(type === null ? [] : [sql`event.event ->> 'device_type' = ${type}`]),
    ...macs.map((mac) => sql`event.device_id = ${deviceIdOf(mac)}`),
    ...(model === null ? [] : [sql`device.model = ${model}`]),
    ...(text === null ? [] : [sql`event.event ->> 'text' ilike ${containing(text)}`]),
    ...(second === null
      ? []
      : [sql`event.created_at >= to_timestamp(${second}) and event.created_at < to_timestamp(${second + 1})`]),
    ...(types === null ? [] : [sql`event.type = ${anyOf(types)}`]),
  ])
}
