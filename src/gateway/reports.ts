import { type SessionReport, recordReports } from '../devices/stats/record-report.ts'
import type { Context } from '../platform/context.ts'
import { createBatcher } from './batch.ts'

/** Of one device; beyond it the device must wait, or one that never stops talking would fill our memory. */
const MAX_UNWRITTEN = 32

/** Writes what devices report, together with what others report at the same time. */
export interface Reports {
  /** A promise where the device has said so much that it must not be heard before that settles; never rejects. */
  add(report: SessionReport): Promise<void> | undefined
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>
}

export function createReports(ctx: Context, batchSize: number): Reports {
  const unwritten = new Map<string, number>()
  const batches = createBatcher<SessionReport, SessionReport, true>({
    maxItems: batchSize,
    keyOf: (report) => report,
    async run(items) {
      await recordReports(ctx, items)
      return new Map(items.map((item) => [item, true]))
    },
  })

  async function write(report: SessionReport): Promise<void> {
    const { deviceId } = report
    try {
      await batches.add(report)
    } catch (error) {
      ctx.log.warn({ err: error, deviceId }, 'a report of a device was lost')
    }
    const left = (unwritten.get(deviceId) ?? 1) - 1
    if (left === 0) unwritten.delete(deviceId)
    else unwritten.set(deviceId, left)
  }

  return {
    add(report) {
      const count = (unwritten.get(report.deviceId) ?? 0) + 1
      unwritten.set(report.deviceId, count)
      const written = write(report)
      return count < MAX_UNWRITTEN ? undefined : written
    },
    idle: () => batches.idle(),
  }
}
