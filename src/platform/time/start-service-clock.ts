import { sql } from 'kysely'
import { monotonicMs } from './clock.ts'
import type { Context } from '../context.ts'
import type { Db } from '../database/db.ts'
import { startPoller } from './poller.ts'
import { type ListeningClock, createServiceClock } from './service-clock.ts'

/** Much more often than the clock needs to distinguish a normal gap from a suspension. */
const OBSERVE_MS = 1000
const PERSIST_MS = 5000

export interface RunningServiceClock extends ListeningClock {
  /** Stops counting and persists the time. */
  stop(): Promise<void>
}

/** Finds when the service last ran, by the wall clock of that time. It is overwritten once the service listens. */
export async function findLastWallTime(db: Db): Promise<Date | null> {
  return (await db.selectFrom('serviceClock').select('wallAt').executeTakeFirstOrThrow()).wallAt
}

/** Reads the service time of this installation and persists it every few seconds until `stop`. */
export async function startServiceClock(
  ctx: Pick<Context, 'db' | 'wakes' | 'clock' | 'log'>,
): Promise<RunningServiceClock> {
  const { ms } = await ctx.db.selectFrom('serviceClock').select('ms').executeTakeFirstOrThrow()
  const clock = createServiceClock(ms, monotonicMs)
  async function persist(): Promise<void> {
    const { nowMs, takenAtMs } = clock.read()
    // A start must have read the former wall time before it listens.
    const wallAt = takenAtMs === null ? sql<Date>`wall_at` : ctx.clock.now()
    await ctx.db
      .updateTable('serviceClock')
      .set({ ms: sql<number>`greatest(ms, ${nowMs})`, wallAt })
      .execute()
  }
  // Two loops, because time must also be observed while the database delays a write.
  const observer = startPoller({
    name: 'service-clock',
    ctx,
    intervalMs: OBSERVE_MS,
    async work() {
      clock.nowMs()
      return null
    },
  })
  const writer = startPoller({
    name: 'service-time',
    ctx,
    intervalMs: PERSIST_MS,
    maxBackoffMs: PERSIST_MS,
    first: 'after the interval',
    async work() {
      await persist()
      return null
    },
  })
  return {
    ...clock,
    async stop() {
      await Promise.all([observer.stop(), writer.stop()])
      await persist()
    },
  }
}
