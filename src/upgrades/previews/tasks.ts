import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { Task } from '../../platform/time/jobs.ts'
import { deleteExpiredPreviews } from './store.ts'

/** The chore that deletes plans of upgrades that were not started in time, for startJobs(). */
export function previewTasks(ctx: Context): Task[] {
  const run = () => inTx(ctx, (tx) => deleteExpiredPreviews(tx, ctx.clock.now()))
  return [{ name: 'upgrade_previews', cron: '25 * * * *', run }]
}
