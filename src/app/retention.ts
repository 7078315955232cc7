import { agingAccountLog } from '../accounts/store-retention.ts'
import { agingAuditLog, agingDeviceEvents, agingMxedgeEvents } from '../events/store-retention.ts'
import { agingDownloads } from '../firmware/store-retention.ts'
import { agingMxedgeCommands } from '../mxedges/commands/store-retention.ts'
import { addMs } from '../platform/clock.ts'
import type { Context } from '../platform/context.ts'
import type { Task } from '../platform/jobs.ts'
import { type AgingRows, deleteOldRows } from '../platform/retention.ts'
import { agingCommands, agingUpgrades } from '../rollout/store-retention.ts'

/** The number of days for which each kind of record is kept. */
export interface Retention {
  readonly auditDays: number
  readonly eventDays: number
  readonly commandDays: number
  readonly upgradeDays: number
}

/** Records that only grow with time, by the setting that bounds them. */
const aging: readonly { readonly setting: keyof Retention; readonly rows: readonly AgingRows[] }[] = [
  { setting: 'auditDays', rows: [agingAuditLog, agingAccountLog] },
  { setting: 'eventDays', rows: [agingDeviceEvents, agingMxedgeEvents] },
  { setting: 'commandDays', rows: [agingCommands, agingMxedgeCommands, agingDownloads] },
  { setting: 'upgradeDays', rows: agingUpgrades },
]

const DAY_MS = 24 * 3600e3

/** The chore that deletes records older than the operator keeps them, for startJobs(). */
export function retentionTasks(ctx: Context, retention: Retention): Task[] {
  return [
    { name: 'retention', cron: '35 * * * *', run: (_payload, signal) => deletePastRetention(ctx, retention, signal) },
  ]
}

export async function deletePastRetention(ctx: Context, retention: Retention, signal?: AbortSignal): Promise<void> {
  const now = ctx.clock.now()
  const kinds = aging.map(({ setting, rows }) => ({ rows, before: addMs(now, -retention[setting] * DAY_MS) }))
  const deleted = await deleteOldRows(ctx, kinds, signal)
  const rows = Object.values(deleted).reduce((sum, count) => sum + count, 0)
  if (rows > 0) ctx.log.info({ rows, deleted }, 'Deleted what is older than it is kept')
}
