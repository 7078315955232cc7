import type { Context } from '../platform/context.ts'
import type { ImageFiles } from '../platform/images/image-files.ts'
import type { Task } from '../platform/time/jobs.ts'
import { createThumbnails } from './create-thumbnails.ts'

/** Requested when a picture arrives; scheduled runs cover requests that failed. */
export const THUMBNAILS = 'map_thumbnails'

/** The chores of maps, for startJobs(). */
export function mapTasks(ctx: Context, files: ImageFiles): Task[] {
  return [{ name: THUMBNAILS, cron: '*/5 * * * *', run: (_payload, signal) => createThumbnails(ctx, files, signal) }]
}
