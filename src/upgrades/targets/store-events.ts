import { sql } from 'kysely'
import type { InOrg, PlaceScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import { RESTORE_TEXT } from '../../devices/commands/command.ts'
import { type DeviceEventName, families } from '../../events/device-event-types.ts'
import { hourOf, isOfDevice } from '../../events/store-hours.ts'
import { addMs } from '../../platform/time/clock.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import { isInFlight } from '../../rollout/rollout.ts'
import { decodeTimeline } from '../../rollout/targets/timeline.ts'

/** An event of the device while it was in the upgrade. */
export interface TargetEvent {
  readonly type: string
  readonly at: Date
  readonly reason: string | null
  readonly text: string | null
}

const MAX_EVENTS = 500
/**
 * How long after the end of a target events belong to it: the last contact of a device may come later, for instance if it
 * failed because it was absent.
 */
const HEARD_WITHIN_MS = 3600e3

/** Events about the effect of an upgrade on a device, or the reason of its failure. */
const shownEvents: readonly DeviceEventName[] = [
  'CONNECTED',
  'DISCONNECTED',
  'RESTARTED',
  'RESTART_BY_USER',
  'UPGRADE_BY_USER',
  'UPGRADED',
  'UPGRADE_FAILED',
  'RECOVERY_SNAPSHOT_REQUESTED',
  'RECOVERY_SNAPSHOT_SUCCEEDED',
  'RECOVERY_SNAPSHOT_FAILED',
]

/** The end of a target, and that of its events. */
export interface TargetEnd {
  readonly endedAt: Date
  readonly before: Date
}

/**
 * Returns when the events of an ended target end: when a later upgrade commands the device or a person requests a restore,
 * if that is soon. A later upgrade may be planned long before.
 */
export async function findEndOfEvents(
  reader: Reader,
  scope: InOrg,
  { deviceId, upgradeId, endedAt }: { readonly deviceId: string; readonly upgradeId: string; readonly endedAt: Date },
): Promise<TargetEnd> {
  const last = addMs(endedAt, HEARD_WITHIN_MS)
  const targets = await reader
    .selectFrom('upgradeTarget')
    .select('timeline')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .where('upgradeId', '<>', upgradeId)
    .where('enteredAt', '>=', endedAt)
    .execute()
  const commanded = targets.flatMap(({ timeline }) =>
    decodeTimeline(timeline).flatMap(({ state, at }) => (isInFlight(state) && at >= endedAt ? [at] : [])),
  )
  const restore = await reader
    .selectFrom('deviceEvent')
    .select('createdAt')
    .where('orgId', '=', scope.orgId)
    .where(isOfDevice(sql`device_id`, deviceId))
    .where(hour, '>=', hourOf(sql`${endedAt}::timestamptz`))
    .where('createdAt', '>=', endedAt)
    .where('createdAt', '<=', last)
    .where('type', '=', anyOf(typesOf(['UPGRADE_BY_USER'])))
    .where(sql<boolean>`event->>'text' like ${`${RESTORE_TEXT}%`}`)
    .orderBy('createdAt')
    .limit(1)
    .executeTakeFirst()
  const ends = [addMs(last, 1), ...commanded, ...(restore === undefined ? [] : [restore.createdAt])]
  return { endedAt, before: new Date(Math.min(...ends.map((at) => at.getTime()))) }
}

/** The index by device has the hours of its events. */
const hour = hourOf(sql`created_at`)

const typesOf = (names: readonly DeviceEventName[]): string[] =>
  names.flatMap((name) => Object.values(families).map((family) => `${family}_${name}`))

/** Lists the latest events of a device in the scope from a time on, in order; those of an ended target until its end. */
export async function listTargetEvents(
  reader: Reader,
  scope: PlaceScope,
  { deviceId, since, end }: { readonly deviceId: string; readonly since: Date; readonly end: TargetEnd | null },
): Promise<TargetEvent[]> {
  let query = reader
    .selectFrom('deviceEvent')
    .select(['type', 'createdAt as at'])
    .select([sql<string | null>`event->>'reason'`.as('reason'), sql<string | null>`event->>'text'`.as('text')])
    .where('orgId', '=', scope.orgId)
    .where(isOfDevice(sql`device_id`, deviceId))
    .where(hour, '>=', hourOf(sql`${since}::timestamptz`))
    .where('createdAt', '>=', since)
    .where('type', '=', anyOf(typesOf(shownEvents)))
    .where(inSites(scope, sql.ref('site_id')))
  if (end !== null) {
    const { endedAt, before } = end
    // A later upgrade may be planned at any time. One that takes the device over is, at the very time of this end.
    const isPlan = sql<boolean>`type = ${anyOf(typesOf(['UPGRADE_BY_USER']))}`
    query = query
      .where('createdAt', '<', before)
      .where((eb) => eb.not(eb.and([isPlan, eb('createdAt', '>=', endedAt), eb('createdAt', '>', since)])))
  }
  const latest = await query.orderBy('createdAt', 'desc').orderBy('id', 'desc').limit(MAX_EVENTS).execute()
  return latest.toReversed()
}
