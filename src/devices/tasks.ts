import type { Context } from '../platform/context.ts'
import type { Task } from '../platform/time/jobs.ts'
import { sweepUpgradeCommands } from './commands/record-commands.ts'
import { foldValueCounts } from './store-value-counts.ts'

/** Returns the chores that fold changes into the counters of values, and end overdue commands, for startJobs(). */
export function deviceTasks(ctx: Context): Task[] {
  return [
    { name: 'fold_value_counts', cron: '* * * * *', run: (_payload, signal) => foldValueCounts(ctx, signal) },
    { name: 'forgotten_commands', cron: '50 * * * *', run: () => sweepUpgradeCommands(ctx) },
  ]
}
