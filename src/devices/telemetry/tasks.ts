import type { Context } from '../../platform/context.ts'
import type { Task } from '../../platform/time/jobs.ts'
import { preparePartitions } from '../../platform/database/partitions.ts'
import { keptDays } from './store-series.ts'

/** Returns the chore that creates and drops the partitions of device_series, for startJobs(). */
export function seriesTasks(ctx: Context): Task[] {
  return [{ name: 'series_partitions', cron: '15 0 * * *', run: () => prepareSeries(ctx) }]
}

/** The daily chore creates partitions ahead, but a server that was off for days starts without them. */
export function prepareSeries(ctx: Context): Promise<void> {
  return preparePartitions(ctx, keptDays)
}
