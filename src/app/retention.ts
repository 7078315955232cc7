import { systemScope } from '../access/scope.ts'
import { agingAccountLog } from '../accounts/store-retention.ts'
import { appendSystemEvent } from '../events/append-system.ts'
import { findOrgOfCode } from '../events/store-places.ts'
import {
  agingAlarms,
  agingAuditLog,
  agingDeviceEvents,
  agingMxedgeEvents,
  agingPlaces,
  agingSystemEvents,
} from '../events/store-retention.ts'
import { agingDownloads } from '../firmware/store-retention.ts'
import { agingMxedgeCommands } from '../mxedges/commands/store-retention.ts'
import { agingMxedgeUpgrades } from '../mxedges/upgrades/store-retention.ts'
import { addMs } from '../platform/time/clock.ts'
import type { Context } from '../platform/context.ts'
import type { Task } from '../platform/time/jobs.ts'
import type { Tx } from '../platform/database/db.ts'
import { type AgingRows, type DeletedRows, deleteOldRows } from '../platform/database/retention.ts'
import { agingUpgrades } from '../rollout/store-retention.ts'
import { agingCommands } from '../upgrades/automatic/store-retention.ts'

/** The number of days for which each kind of record is stored. */
export interface Retention {
  readonly auditDays: number
  readonly eventDays: number
  readonly commandDays: number
  readonly upgradeDays: number
}

/** Records that only grow with time, by the setting that bounds them. */
const aging: readonly { readonly setting: keyof Retention; readonly rows: readonly AgingRows[] }[] = [
  { setting: 'auditDays', rows: [agingAuditLog, agingAccountLog] },
  { setting: 'eventDays', rows: [agingDeviceEvents, agingPlaces, agingSystemEvents, agingMxedgeEvents, agingAlarms] },
  { setting: 'commandDays', rows: [agingCommands, agingMxedgeCommands, agingDownloads] },
  { setting: 'upgradeDays', rows: [...agingUpgrades, agingMxedgeUpgrades] },
]

const DAY_MS = 24 * 3600e3

/** The chore that deletes records older than the operator's retention, for startJobs(). */
export function retentionTasks(ctx: Context, retention: Retention): Task[] {
  return [
    { name: 'retention', cron: '35 * * * *', run: (_payload, signal) => deletePastRetention(ctx, retention, signal) },
  ]
}

export async function deletePastRetention(ctx: Context, retention: Retention, signal?: AbortSignal): Promise<void> {
  const now = ctx.clock.now()
  const kinds = aging.map(({ setting, rows }) => ({ rows, before: addMs(now, -retention[setting] * DAY_MS) }))
  const onDeleted = (tx: Tx, rows: DeletedRows) => reportDeleted(tx, rows, now)
  const deleted = await deleteOldRows(ctx, kinds, { signal, onDeleted })
  const rows = Object.values(deleted).reduce((sum, count) => sum + count, 0)
  if (rows > 0) ctx.log.info({ rows, deleted }, 'Deleted records that are older than their retention')
}

/** The names of tables for operators; tables that are not listed belong to one of these. */
const names: Readonly<Record<string, string>> = {
  audit_log: 'Audit records',
  alarm: 'Alarms',
  device_event_row: 'Events of devices',
  mxedge_event: 'Events of edge appliances',
  device_command: 'Commands to devices',
  mxedge_command: 'Commands to edge appliances',
  org_upgrade: 'Upgrades',
  mxedge_upgrade: 'Upgrades of edge appliances',
}

/** Reports to an organization once a day that its old records are being deleted. */
async function reportDeleted(tx: Tx, { aging, owner, before }: DeletedRows, now: Date): Promise<void> {
  const what = names[aging.table]
  const orgId = aging.owner === 'org' ? await findOrgOfCode(tx, Number(owner)) : owner
  if (what === undefined || aging.owner === 'admin_id' || orgId === undefined) return
  const once = `${aging.table} ${now.toISOString().slice(0, 10)}`
  const text = `${what} from before ${before.toISOString().slice(0, 10)} have been deleted`
  await appendSystemEvent(tx, systemScope('operator', orgId), { type: 'RECORDS_DELETED', once, text }, now)
}
