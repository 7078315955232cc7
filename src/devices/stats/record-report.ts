import { systemScope } from '../../access/scope.ts'
import { appendDeviceEvents } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import { wakeAfterCommit } from '../../platform/wakes.ts'
import { type Report, type ReportDecision, decideReport } from './decide-report.ts'
import { eventDevice, groupByOrg } from '../sessions/event-device.ts'
import { saveReports } from './store-reports.ts'
import { type ClaimedStatus, lockClaimedStatuses } from '../sessions/store.ts'

/** A report, under the session that carried it. */
export interface SessionReport extends Report {
  readonly deviceId: string
  readonly epoch: string
}

/**
 * Records what devices report: their load, their uptime, how far a firmware update is. In one
 * transaction for all. Reports of held devices and of sessions that are no longer the newest of their
 * device are dropped.
 *
 * @param reports In the order of their arrival; a device may be in it more than once.
 */
export async function recordReports(ctx: Context, reports: readonly SessionReport[]): Promise<void> {
  const at = ctx.clock.now()
  const byDevice = Map.groupBy(reports, ({ deviceId }) => deviceId)
  await inTx(ctx, async (tx) => {
    const known = await lockClaimedStatuses(tx, [...byDevice.keys()])
    const changes = known.flatMap((status) => {
      const fresh = (byDevice.get(status.deviceId) ?? []).filter(({ epoch }) => epoch === status.epoch)
      return fresh.length === 0 ? [] : [changeOf(status, fresh, at)]
    })
    if (changes.length === 0) return
    await saveReports(tx, changes, at)
    const restarted = changes.filter(({ booted }) => booted)
    for (const [orgId, some] of groupByOrg(restarted)) {
      const happenings = some.map(({ status }) => ({ device: eventDevice(status), what: 'RESTARTED' as const }))
      await appendDeviceEvents(tx, systemScope('gateway', orgId), happenings, at)
    }
    if (restarted.length === 0) return
    wakeAfterCommit(
      tx,
      'rollouts',
      restarted.map(({ deviceId }) => deviceId),
    )
  })
}

interface Change extends ReportDecision {
  readonly orgId: string
  readonly deviceId: string
  readonly status: ClaimedStatus
}

function changeOf(status: ClaimedStatus, reports: readonly Report[], at: Date): Change {
  const start: ReportDecision = { ...status, booted: false }
  const end = reports.reduce((known, report) => {
    const next = decideReport(known, report, at)
    return { ...next, booted: known.booted || next.booted }
  }, start)
  const { load, bootCount, bootedAt, fwupdate, booted } = end
  return { orgId: status.orgId, deviceId: status.deviceId, status, load, bootCount, bootedAt, fwupdate, booted }
}
