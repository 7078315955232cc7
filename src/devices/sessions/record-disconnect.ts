import { systemScope } from '../../access/scope.ts'
import { type DeviceEventInput, appendDeviceEvents } from '../../events/append.ts'
import { updownMinutesOf } from '../../orgs/org-settings/setting.ts'
import { readerOfThresholds } from '../../orgs/org-settings/store.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { eventDevice } from './event-device.ts'
import { recordCommandsLost } from '../commands/append-ended.ts'
import {
  type ClaimedStatus,
  type SessionKey,
  closeSessions,
  lockClaimedStatuses,
  updateDisconnectedStatuses,
} from './store.ts'
import { skipLocked } from './skip-locked.ts'
import { insertOutages, listDueOutages, deleteOutages } from './store-outages.ts'
import { noteStats } from '../stats/note-stats.ts'

const MINUTE_MS = 60_000
const OUTAGES_PER_PART = 1000
const PARTS_PER_SWEEP = 10

/**
 * Closes sessions whose sockets have closed, and appends the events of devices that are therefore down. A device with a
 * newer session is not down: only what was in flight on the old session is lost. The sessions of devices that another
 * transaction has locked are left out.
 * @param isRepeated True if one of the devices was locked before.
 * @returns The ids of the locked devices.
 */
export async function recordDisconnects(
  ctx: Context,
  keys: readonly SessionKey[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  const [at, atMs] = [ctx.clock.now(), ctx.serviceClock.nowMs()]
  const ordered = keys.toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
  const deviceIds = ordered.map(({ deviceId }) => deviceId)
  const { lockedIds } = await skipLocked(ctx, { deviceIds, isRepeated }, async (tx, locked) => {
    const free = ordered.filter(({ deviceId }) => !locked.has(deviceId))
    // Sessions are locked before commands, as when a device connects, to prevent deadlocks.
    const closed = await closeSessions(tx, free, atMs)
    await recordCommandsLost(tx, free, { at, why: 'connection_lost' })
    await applyDisconnections(
      tx,
      closed.map(({ deviceId }) => deviceId),
      at,
    )
  })
  return lockedIds
}

/**
 * Marks the claimed devices as down. The events of devices that were up follow immediately, or after the updown
 * threshold of their site. `tx` is by keys.
 */
export async function applyDisconnections(tx: Tx, deviceIds: readonly string[], at: Date): Promise<void> {
  if (deviceIds.length === 0) return
  const down = await updateDisconnectedStatuses(tx, deviceIds, at)
  if (down.length === 0) return
  const thresholdsOf = await readerOfThresholds(tx, down)
  const outages = down.map((status): Outage => {
    const minutes = updownMinutesOf(thresholdsOf(status), status.type)
    return { status, downAt: at, dueAt: addMs(at, minutes * MINUTE_MS) }
  })
  await appendDownEvents(
    tx,
    outages.filter(({ dueAt }) => dueAt <= at),
    at,
  )
  await insertOutages(
    tx,
    outages
      .filter(({ dueAt }) => dueAt > at)
      .map(({ status: { orgId, deviceId }, downAt, dueAt }) => ({ orgId, deviceId, downAt, dueAt })),
  )
  noteStats(tx, down)
  wakeAfterCommit(
    tx,
    'rollouts',
    down.map(({ deviceId }) => deviceId),
  )
}

interface Outage {
  readonly status: ClaimedStatus
  readonly downAt: Date
  /** When to announce the outage. */
  readonly dueAt: Date
}

/**
 * Announces outages that have lasted for their thresholds: in parts, so that no transaction locks a whole fleet, and
 * not more at a time than leaves time for the rest of the sweep. Those of devices that another transaction has locked
 * are left to the next sweep.
 */
export async function appendDueOutages(ctx: Context): Promise<void> {
  const locked = new Set<string>()
  for (let part = 0; part < PARTS_PER_SWEEP; part += 1) {
    const at = ctx.clock.now()
    const due = await listDueOutages(ctx.db, at, { limit: OUTAGES_PER_PART, except: locked })
    if (due.length === 0) return
    const { done, lockedIds } = await skipLocked(ctx, { deviceIds: due, isRepeated: false }, (tx, skipped) =>
      appendOutages(
        tx,
        due.filter((id) => !skipped.has(id)),
        at,
      ),
    )
    for (const id of lockedIds) locked.add(id)
    if ((done ?? 0) + lockedIds.size < OUTAGES_PER_PART) return
  }
}

/** @returns The number of outages that were due. */
async function appendOutages(tx: Tx, due: readonly string[], at: Date): Promise<number> {
  // Statuses are locked before outages, as when a device reconnects.
  const known = await lockClaimedStatuses(tx, due)
  const since = await deleteOutages(tx, known, at)
  const outages = known.flatMap((status) => {
    const downAt = since.get(status.deviceId)
    return downAt === undefined || status.connected ? [] : [{ status, downAt }]
  })
  await appendDownEvents(tx, outages, at)
  return since.size
}

async function appendDownEvents(
  tx: Tx,
  outages: readonly Pick<Outage, 'status' | 'downAt'>[],
  at: Date,
): Promise<void> {
  const byOrg = Map.groupBy(outages, ({ status }) => status.orgId)
  for (const [orgId, some] of byOrg) {
    const deviceEvents = some.map(({ status, downAt }): DeviceEventInput => {
      const device = eventDevice(status)
      if (downAt >= at) return { device, what: 'DISCONNECTED' }
      return { device, what: 'DISCONNECTED', text: `since ${downAt.toISOString()}` }
    })
    await appendDeviceEvents(tx, systemScope('gateway', orgId), deviceEvents, at)
  }
}
