import { systemScope } from '../../access/scope.ts'
import { type DeviceEventInput, appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx, inUnflushedTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { ReportTime } from './decide-boot.ts'
import { recordHardware } from '../hardware/record-hardware.ts'
import type { Hardware } from '../hardware/hardware.ts'
import type { DeviceCapabilities, VcMember } from '../tables.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { type Report, type ReportDecision, decideReport } from './decide-report.ts'
import { eventDevice, groupByOrg } from '../sessions/event-device.ts'
import type { PortChange } from '../telemetry/decide-port-changes.ts'
import { recordTelemetry } from '../telemetry/record-telemetry.ts'
import { appendCompletedRestores } from '../commands/append-ended.ts'
import { progressOf } from './fwupdate.ts'
import { type ReportedProgress, raiseReportedProgress } from './store-fwupdates.ts'
import { lockFreeStatuses, updateReportedStatuses } from './store-reports.ts'
import { type InTransaction, skipLockedRows } from '../sessions/skip-locked.ts'
import { type ClaimedStatus, listConnectReasons, lockClaimedStatuses } from '../sessions/store.ts'
import { noteStats } from './note-stats.ts'

/** A report, with the session that carried it. */
export interface SessionReport extends Report {
  readonly deviceId: string
  readonly epoch: string
}

/**
 * Records what devices report (load, uptime, telemetry, progress of a firmware update) in one transaction for all, except those
 * that another transaction has locked. Reports of unclaimed devices, and of sessions that are no longer the newest of their
 * device, are dropped.
 * @param reports In the order of their arrival; a device may occur more than once.
 * @param isRepeated True if one of the devices was locked before.
 * @returns The ids of the locked devices.
 */
export async function recordUnlockedReports(
  ctx: Context,
  reports: readonly SessionReport[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(reports.map(({ deviceId }) => deviceId))]
  const batch = { ids, isRepeated, lockFree: lockFreeStatuses, inTransaction: transactionOf(reports) }
  const { lockedIds } = await skipLockedRows(ctx, batch, (tx, locked) =>
    applyReports(
      ctx,
      tx,
      reports.filter(({ deviceId }) => !locked.has(deviceId)),
    ),
  )
  return lockedIds
}

/** Links report members and capabilities once, when they change, so these must survive a crash of the database. */
function transactionOf(reports: readonly SessionReport[]): InTransaction {
  return reports.some(({ members, capabilities }) => members != null || capabilities != null) ? inTx : inUnflushedTx
}

async function applyReports(ctx: Context, tx: Tx, reports: readonly SessionReport[]): Promise<void> {
  const time = { at: ctx.clock.now(), atMs: ctx.serviceClock.nowMs() }
  const byDevice = Map.groupBy(reports, ({ deviceId }) => deviceId)
  await raiseReportedProgress(tx, progressOfSessions(reports), time.at)
  const known = await lockClaimedStatuses(tx, [...byDevice.keys()])
  const changes = known.flatMap((status) => {
    const fresh = (byDevice.get(status.deviceId) ?? []).filter(({ epoch }) => epoch === status.epoch)
    return fresh.length === 0 ? [] : [changeOf(status, fresh, time)]
  })
  if (changes.length === 0) return
  await updateReportedStatuses(tx, changes, time.at)
  noteStats(tx, changes)
  await recordHardware(
    tx,
    changes.flatMap(({ hardware, ...key }) => (hardware === null ? [] : [{ ...key, hardware }])),
    time.at,
  )
  const portChanges = await recordTelemetry(
    tx,
    changes.filter(({ telemetry }) => telemetry.length > 0),
    time,
  )
  await appendPortChanges(tx, changes, { portChanges, at: time.at })
  await appendRestarts(tx, changes, time.at)
  const idsOf = (some: readonly Change[]): string[] => some.map(({ deviceId }) => deviceId)
  const moved = changes.filter(({ newMembers }) => newMembers !== null)
  if (moved.length > 0) wakeAfterCommit(tx, 'rollouts', idsOf(moved))
  const mayBeRestored = changes.filter(({ newMembers, hasBooted }) => newMembers !== null || hasBooted)
  if (mayBeRestored.length > 0) await appendCompletedRestores(tx, idsOf(mayBeRestored), time.at)
}

/** The largest progress that each session has reported. */
function progressOfSessions(reports: readonly SessionReport[]): ReportedProgress[] {
  const said = reports.flatMap(({ deviceId, epoch, firmware }) =>
    firmware === null ? [] : [{ deviceId, epoch, progress: progressOf(firmware) }],
  )
  const bySession = Map.groupBy(said, ({ deviceId, epoch }) => `${deviceId} ${epoch}`)
  return [...bySession.values()].map((some) => some.reduce((most, one) => (one.progress > most.progress ? one : most)))
}

async function appendPortChanges(
  tx: Tx,
  changes: readonly Change[],
  { portChanges, at }: { readonly portChanges: ReadonlyMap<string, readonly PortChange[]>; readonly at: Date },
): Promise<void> {
  for (const [orgId, some] of groupByOrg(changes)) {
    const deviceEvents = some.flatMap(({ deviceId, status }) =>
      (portChanges.get(deviceId) ?? []).map(({ port, up, count }): DeviceEventInput => {
        const text = `Port ${port} is ${up ? 'up' : 'down'}`
        return { device: eventDevice(status), what: up ? 'PORT_UP' : 'PORT_DOWN', text, port: { id: port, count } }
      }),
    )
    await appendDeviceEvents(tx, systemScope('gateway', orgId), deviceEvents, at)
  }
}

/** Appends events for devices that have proved a boot, with the cause that they give. */
async function appendRestarts(tx: Tx, changes: readonly Change[], at: Date): Promise<void> {
  const restarted = changes.filter(({ newBoot }) => newBoot !== null)
  if (restarted.length === 0) return
  const reasons = await listConnectReasons(
    tx,
    restarted.map(({ deviceId }) => deviceId),
  )
  for (const [orgId, some] of groupByOrg(restarted)) {
    const deviceEvents = some.map(({ deviceId, status, newBoot }): DeviceEventInput => {
      const device = eventDevice(status)
      const reason = newBoot?.cause ?? reasons.get(deviceId) ?? null
      return reason === null ? { device, what: 'RESTARTED' } : { device, what: 'RESTARTED', reason }
    })
    await appendDeviceEvents(tx, systemScope('gateway', orgId), deviceEvents, at)
  }
  wakeAfterCommit(
    tx,
    'rollouts',
    restarted.map(({ deviceId }) => deviceId),
  )
}

interface Change extends ReportDecision {
  readonly orgId: string
  readonly deviceId: string
  readonly type: ClaimedStatus['type']
  readonly siteId: string | null
  readonly epoch: string
  readonly status: ClaimedStatus
  /** Null: unchanged. */
  readonly newMembers: readonly VcMember[] | null
  /** Null: unchanged. */
  readonly newCapabilities: DeviceCapabilities | null
  readonly telemetry: readonly Telemetry[]
  /** Null: not reported. */
  readonly hardware: Hardware | null
  readonly hasBooted: boolean
}

function changeOf(status: ClaimedStatus, reports: readonly Report[], time: ReportTime): Change {
  const start: ReportDecision = { ...status, newBoot: null }
  const end = reports.reduce((known, report) => {
    const next = decideReport(known, report, time)
    return { ...next, newBoot: next.newBoot ?? known.newBoot }
  }, start)
  const { load, bootCount, bootedAt, bootKnownMs, connectedAt, connectedMs, newBoot } = end
  const { orgId, deviceId, type, siteId, epoch } = status
  const telemetry = reports.flatMap((report) => report.telemetry ?? [])
  const newMembers = reports.findLast((report) => report.members != null)?.members ?? null
  const newCapabilities = reports.findLast((report) => report.capabilities != null)?.capabilities ?? null
  const hardware = reports.findLast((report) => report.hardware != null)?.hardware ?? null
  const received = {
    type,
    siteId,
    epoch,
    status,
    telemetry,
    hardware,
    newMembers,
    newCapabilities,
    hasBooted: newBoot !== null,
  }
  return { orgId, deviceId, ...received, load, bootCount, bootedAt, bootKnownMs, connectedAt, connectedMs, newBoot }
}
