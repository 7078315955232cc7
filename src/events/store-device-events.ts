import { sql } from 'kysely'
import { uuidv7 } from '../platform/uuidv7.ts'
import type { EncodedJson, Tx } from '../platform/database/db.ts'
import { copyRows } from '../platform/database/copy-rows.ts'
import { anyRowsAs, columnsOf, namesOf } from '../platform/database/rows.ts'
import { splitByBytes } from '../platform/database/split.ts'
import { statement } from '../platform/database/statement.ts'
import { partLimits } from './store.ts'
import { atPlace } from './store-places.ts'
import type { TopicEvents } from './topics.ts'

/** The members of an event that no column has. */
export type StoredDeviceEvent = Pick<TopicEvents['device-events'], 'audit_id' | 'reason' | 'port_id' | 'count' | 'text'>

export interface NewDeviceEvent {
  readonly orgId: string
  readonly deviceId: string
  readonly siteId: string | null
  /** See kindOf(). */
  readonly kind: number
  /** Null: the device goes by its MAC address. */
  readonly deviceName: string | null
  readonly siteName: string | null
  /** The version that the device runs, if the event shows it. */
  readonly apfw: string | null
  /** A StoredDeviceEvent. */
  readonly event: EncodedJson
}

const columns = columnsOf('deviceEventRow', {
  createdAt: 'timestamptz',
  id: 'uuid',
  deviceId: 'uuid',
  org: 'integer',
  place: 'integer',
  kind: 'smallint',
  deviceName: 'text',
  siteName: 'text',
  apfw: 'text',
  event: 'jsonb',
})

/** More events are copied: they need the codes of their places first. */
const FEW = 16

export async function insertDeviceEvents(tx: Tx, events: readonly NewDeviceEvent[], at: Date): Promise<void> {
  for (const part of splitByBytes(events, ({ event }) => event.text.length, partLimits)) {
    if (part.length < FEW)
      await insertFew(tx, { rows: part.map((event) => ({ ...event, id: uuidv7(), createdAt: at })) })
    else await copyMany(tx, part, at)
  }
}

interface EventRow extends NewDeviceEvent {
  readonly id: string
  readonly createdAt: Date
}

const rowColumns = columnsOf(
  'deviceEventRow',
  {
    createdAt: 'timestamptz',
    id: 'uuid',
    deviceId: 'uuid',
    kind: 'smallint',
    deviceName: 'text',
    siteName: 'text',
    apfw: 'text',
    event: 'jsonb',
  },
  { orgId: 'uuid', siteId: 'uuid' },
)

/** An event of an unknown place is refused: its codes are null. */
const insertFew = statement<{ readonly rows: readonly EventRow[] }, unknown>(
  (param) => sql`
    insert into device_event_row (${namesOf(columns)})
    select new.created_at, new.id, new.device_id, place.org, place.code, new.kind, new.device_name, new.site_name, new.apfw,
      new.event
    from ${anyRowsAs('new', rowColumns, param('rows'))}
    left join lateral (
      select * from event_place place where ${atPlace(sql`new.org_id`, sql`new.site_id`)} limit 1
    ) place on true`,
)

async function copyMany(tx: Tx, events: readonly NewDeviceEvent[], createdAt: Date): Promise<void> {
  const places = new Map(events.map(({ orgId, siteId }) => [placeKey(orgId, siteId), { orgId, siteId }]))
  const found = await findPlaces(tx, { places: [...places.values()] })
  const codes = new Map(found.map((place) => [placeKey(place.orgId, place.siteId), place]))
  // Copying each event with `...` would take longer than encoding it.
  const rows = events.map(({ orgId, siteId, deviceId, kind, deviceName, siteName, apfw, event }) => {
    const place = codes.get(placeKey(orgId, siteId))
    if (place === undefined) throw new Error(`There is no place of events for site ${siteId} of organization ${orgId}`)
    return { id: uuidv7(), deviceId, org: place.org, place: place.code, kind, deviceName, siteName, apfw, event }
  })
  await copyRows(tx, columns, rows, { every: { createdAt } })
}

const placeKey = (orgId: string, siteId: string | null): string => `${orgId} ${siteId ?? ''}`

const placeColumns = columnsOf('eventPlace', { orgId: 'uuid', siteId: 'uuid' })

interface FoundPlace {
  readonly orgId: string
  readonly siteId: string | null
  readonly org: number
  readonly code: number
}

const findPlaces = statement<
  { readonly places: readonly { readonly orgId: string; readonly siteId: string | null }[] },
  FoundPlace
>(
  (param) => sql<FoundPlace>`
    select place.org_id, place.site_id, place.org, place.code
    from ${anyRowsAs('event', placeColumns, param('places'))}
    cross join lateral (
      select * from event_place place where ${atPlace(sql`event.org_id`, sql`event.site_id`)} limit 1
    ) place`,
)
