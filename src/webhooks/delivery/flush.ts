import type { Context } from '../../platform/context.ts'
import { type Gatherer, createGatherer } from '../../platform/queues/gather.ts'
import type { PartLimits } from '../../platform/database/split.ts'
import type { WebhookCounters } from '../metrics/counters.ts'
import { type FlushEntry, bytesOf, writeEntries } from './write-entries.ts'

/** Writes the results of deliveries to the database. While it has no room, no further request may start. */
export type Flusher = Gatherer<FlushEntry>

/** Results within this time share a statement. Nothing waits for it: a lane that has many unwritten ones has them written at once. */
const wait = { ms: 250, count: 128 }
const batch: PartLimits = { count: 500, bytes: 4 * 1024 * 1024 }
/** Limits for results that wait or are being written. Requests in flight when a limit is reached still add theirs. */
export const defaultMaxUnwritten: PartLimits = { count: 2000, bytes: 16 * 1024 * 1024 }

interface FlusherOptions {
  readonly maxUnwritten?: PartLimits
  /** Called when results are written, but leases of their lanes could not be ended: nobody holds these lanes any more. */
  readonly onLeasesLeft?: () => void
}

export function createFlusher(
  ctx: Context,
  counters: WebhookCounters,
  { maxUnwritten = defaultMaxUnwritten, onLeasesLeft }: FlusherOptions = {},
): Flusher {
  return createGatherer<FlushEntry>({
    name: 'delivery results',
    log: ctx.log,
    async write(entries) {
      if (!(await writeEntries(ctx, entries))) onLeasesLeft?.()
    },
    batch,
    bytesOf,
    room: maxUnwritten,
    wait,
    // A message whose success is lost would be sent again.
    keepsTrying: true,
    // If a lane were released after a refused result, its message would be sent again repeatedly; its lease must expire
    // first.
    seriesOf: ({ lane }) => lane,
    onRefused({ lane: { orgId, webhookId } }, error) {
      counters.add('results_refused')
      ctx.log.error({ err: error, orgId, webhookId }, 'the database refused a delivery result; it is lost')
    },
  })
}
