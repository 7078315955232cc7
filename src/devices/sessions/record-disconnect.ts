import { systemScope } from '../../access/scope.ts'
import { type DeviceHappening, appendDeviceEvents } from '../../events/append.ts'
import { updownMinutesOf } from '../../orgs/setting.ts'
import { readerOfThresholds } from '../../orgs/store-setting.ts'
import { addMs } from '../../platform/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTxByKeys } from '../../platform/db.ts'
import { wakeAfterCommit } from '../../platform/wakes.ts'
import { eventDevice } from './event-device.ts'
import { loseCommands } from '../commands/store.ts'
import { type ClaimedStatus, type SessionKey, closeSessions, lockClaimedStatuses, saveDisconnected } from './store.ts'
import { insertOutages, listDueOutages, takeOutages } from './store-outages.ts'

const MINUTE_MS = 60_000
const OUTAGES_PER_PART = 1000
const PARTS_PER_SWEEP = 10

/**
 * Closes sessions whose sockets have closed, and tells of the devices that are down by that. A device
 * that has a newer session is not: only what was in flight on the old one is lost.
 */
export async function recordDisconnects(ctx: Context, keys: readonly SessionKey[]): Promise<void> {
  const ordered = keys.toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
  const at = ctx.clock.now()
  await inTxByKeys(ctx, async (tx) => {
    // Sessions before commands, as when a device connects: one order of locks, hence no deadlock.
    const closed = await closeSessions(tx, ordered, ctx.serviceClock.nowMs())
    await loseCommands(tx, ordered, { at, why: 'connection_lost' })
    await applyDisconnections(
      tx,
      closed.map(({ deviceId }) => deviceId),
      at,
    )
  })
}

/**
 * Marks the claimed ones among the devices as down and tells of those that were up: at once, or once
 * they have been away for as long as the updown threshold of their site says.
 */
export async function applyDisconnections(tx: Tx, deviceIds: readonly string[], at: Date): Promise<void> {
  const known = await lockClaimedStatuses(tx, deviceIds)
  const down = known.filter(({ connected }) => connected)
  if (down.length === 0) return
  await saveDisconnected(
    tx,
    down.map(({ deviceId }) => deviceId),
    at,
  )
  const thresholdsOf = await readerOfThresholds(tx, down)
  const outages = down.map((status): Outage => {
    const minutes = updownMinutesOf(thresholdsOf(status), status.type)
    return { status, downAt: at, dueAt: addMs(at, minutes * MINUTE_MS) }
  })
  await tellDown(
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
  wakeAfterCommit(
    tx,
    'rollouts',
    down.map(({ deviceId }) => deviceId),
  )
}

interface Outage {
  readonly status: ClaimedStatus
  readonly downAt: Date
  /** When to tell. */
  readonly dueAt: Date
}

/**
 * Tells of outages that have lasted for as long as their thresholds say: in parts, so that none holds a
 * whole fleet, and no more at a time than leaves time for the other work of the sweep.
 */
export async function tellOutages(ctx: Context): Promise<void> {
  for (let part = 0; part < PARTS_PER_SWEEP; part += 1) if ((await tellSome(ctx)) < OUTAGES_PER_PART) return
}

/** @returns How many outages were taken. */
async function tellSome(ctx: Context): Promise<number> {
  const at = ctx.clock.now()
  const due = await listDueOutages(ctx.db, at, OUTAGES_PER_PART)
  if (due.length === 0) return 0
  return inTxByKeys(ctx, async (tx) => {
    // Statuses before outages, as when a device comes back.
    const known = await lockClaimedStatuses(tx, due)
    const since = await takeOutages(tx, known, at)
    const outages = known.flatMap((status) => {
      const downAt = since.get(status.deviceId)
      return downAt === undefined || status.connected ? [] : [{ status, downAt }]
    })
    await tellDown(tx, outages, at)
    return since.size
  })
}

async function tellDown(tx: Tx, outages: readonly Pick<Outage, 'status' | 'downAt'>[], at: Date): Promise<void> {
  const byOrg = Map.groupBy(outages, ({ status }) => status.orgId)
  for (const [orgId, some] of byOrg) {
    const happenings = some.map(({ status, downAt }): DeviceHappening => {
      const device = eventDevice(status)
      if (downAt >= at) return { device, what: 'DISCONNECTED' }
      return { device, what: 'DISCONNECTED', text: `since ${downAt.toISOString()}` }
    })
    await appendDeviceEvents(tx, systemScope('gateway', orgId), happenings, at)
  }
}
