import { type SessionReport, recordUnlockedReports } from '../devices/stats/record-report.ts'
import { estimateBytes } from '../devices/telemetry/estimate-bytes.ts'
import type { Context } from '../platform/context.ts'
import { gatherUnlocked } from '../platform/queues/gather-unlocked.ts'
import { deviceSpacing } from '../platform/queues/spacing.ts'
import { createFailureLevel } from './failure-level.ts'

/** Unwritten reports of one device; beyond them the device must wait, so that it can't fill our memory. */
const MAX_UNWRITTEN = 32
/** The telemetry of one transaction: each of its statements sends that of all devices as one parameter. */
const BATCH_BYTES = 4 * 1024 * 1024
/** Unwritten telemetry of all devices; beyond it every device that reports must wait. */
const ROOM_BYTES = 32 * 1024 * 1024

/**
 * Writes the reports of several devices in one transaction. Those of devices that another transaction has locked are
 * written later.
 */
export interface Reports {
  /**
   * Returns a promise when the device has too many unwritten reports, or all devices together too much telemetry. The
   * caller must not handle another message of the device before it resolves; it never rejects.
   */
  add(report: SessionReport): Promise<void> | undefined
  /** Resolves when all reports so far are written or lost, except those of locked devices. */
  idle(): Promise<void>
  /** Resolves when all reports are written or lost. */
  stop(): Promise<void>
}

export function createReports(ctx: Context, batchSize: number): Reports {
  const unwritten = new Map<string, number>()
  const levelOf = createFailureLevel('warn')
  const reports = gatherUnlocked<SessionReport>({
    name: 'reports of devices',
    log: ctx.log,
    batch: { count: batchSize, bytes: BATCH_BYTES },
    spacing: deviceSpacing,
    // All other parts of a report have small limits.
    bytesOf: ({ telemetry }) => (telemetry === null ? 0 : estimateBytes(telemetry)),
    room: { count: Infinity, bytes: ROOM_BYTES },
    // A device reports again soon, and its next report is newer.
    keepsTrying: false,
    rowOf: ({ deviceId }) => deviceId,
    write: (items, isRepeated) => recordUnlockedReports(ctx, items, isRepeated),
  })

  async function write(report: SessionReport): Promise<void> {
    const { deviceId } = report
    try {
      await reports.add(report)
    } catch (error) {
      ctx.log[levelOf(error)]({ err: error, deviceId }, 'a report of a device was lost')
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
      // A device that another transaction has locked waits, so that its reports don't fill our memory meanwhile.
      if (reports.isLocked(report.deviceId)) return written
      if (count < MAX_UNWRITTEN && reports.hasRoom()) return undefined
      // The device waits for this write, so the write must not wait for reports of others.
      void reports.flush()
      return written
    },
    idle: () => reports.flush(),
    stop: () => reports.stop(),
  }
}
