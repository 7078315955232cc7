import type { Context } from '../platform/context.ts'
import type { Task } from '../platform/time/jobs.ts'
import { foldValueCounts } from './store-value-counts.ts'

/** Returns the chore that folds changes into the counters of values, for startJobs(). */
export function deviceTasks(ctx: Context): Task[] {
  return [{ name: 'fold_value_counts', cron: '* * * * *', run: (_payload, signal) => foldValueCounts(ctx, signal) }]
}
