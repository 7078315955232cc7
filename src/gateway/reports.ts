import { type SessionReport, recordReports } from '../devices/stats/record-report.ts'
import type { Context } from '../platform/context.ts'
import { createBatcher } from './batch.ts'

/** Unwritten reports of one device; beyond them the device must wait, so that it can't fill our memory. */
const MAX_UNWRITTEN = 32

/** Writes the reports of several devices in one transaction. */
export interface Reports {
  /**
   * Returns a promise when the device has too many unwritten reports. The caller must not handle another message of the
   * device before it resolves; it never rejects.
   */
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
