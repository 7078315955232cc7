import type { DeviceType } from '../../events/device-type.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Tx } from '../../platform/database/db.ts'
import { type Bucket, addSample, sampleOf } from './decide-bucket.ts'
import { type PortChange, decidePortChanges } from './decide-port-changes.ts'
import { type TimedTelemetry, decideRates } from './decide-rates.ts'
import { type DeviceKey, type KnownReport, listKnownReports, upsertReports, upsertSummaries } from './store-reports.ts'
import { insertBuckets, keptDays } from './store-series.ts'
import { summaryOf } from './summary.ts'
import type { Telemetry } from './telemetry.ts'

/** The telemetry of a device whose status is locked, in the order of its arrival. */
export interface ReceivedTelemetry extends DeviceKey {
  readonly type: DeviceType
  readonly siteId: string | null
  /** The session that carried it. */
  readonly epoch: string
  readonly telemetry: readonly Telemetry[]
  /** True if the device has started since its last report, so that its counters began at zero. */
  readonly hasBooted: boolean
}

interface RecordTime {
  readonly at: Date
  readonly atMs: number
}

/**
 * Stores the last report of each device, and its completed buckets. The bucket of the current ten minutes is in the row
 * of the report, so it needs no separate write and survives a crash.
 * @returns The changes of links, by device.
 */
export async function recordTelemetry(
  tx: Tx,
  received: readonly ReceivedTelemetry[],
  time: RecordTime,
): Promise<ReadonlyMap<string, readonly PortChange[]>> {
  if (received.length === 0) return new Map()
  const known = await listKnownReports(tx, received)
  const reports = received.flatMap((one) => {
    const next = fold(one, known.get(one.deviceId), time)
    if (next === null) return []
    const { orgId, deviceId, type, siteId, epoch } = one
    return [{ orgId, deviceId, type, siteId, epoch, ...next }]
  })
  await upsertReports(tx, reports, time)
  await upsertSummaries(
    tx,
    reports.map(({ orgId, deviceId, type, telemetry }) => ({ orgId, deviceId, type, ...summaryOf(telemetry) })),
  )
  const oldest = addMs(time.at, -keptDays.device_series * 24 * 3600e3).getTime() / 1000
  const closed = reports.flatMap(({ orgId, deviceId, closed: buckets }) =>
    buckets.flatMap((bucket) => (bucket.at < oldest ? [] : [{ orgId, deviceId, bucket }])),
  )
  await insertBuckets(tx, closed)
  return new Map(received.map((one) => [one.deviceId, portChangesOf(one, known.get(one.deviceId))]))
}

/** A device that has booted has no change to report: its ports come up with it. */
function portChangesOf({ telemetry, hasBooted }: ReceivedTelemetry, known: KnownReport | undefined): PortChange[] {
  const before = hasBooted || known === undefined ? [] : [known.telemetry]
  return decidePortChanges([...before, ...telemetry].map(({ ports }) => ports))
}

interface Folded {
  readonly telemetry: Telemetry
  readonly bucket: Bucket
  readonly closed: readonly Bucket[]
}

/** Few reports contain a scan, and the device hears the same neighbors for days, also across a restart. */
function withScan(
  telemetry: Telemetry,
  known: Pick<TimedTelemetry, 'telemetry'> | null,
  { at }: RecordTime,
): Telemetry {
  const { scan = null } = telemetry
  if (scan !== null) return { ...telemetry, scan: { ...scan, at_s: Math.floor(at.getTime() / 1000) } }
  const before = known?.telemetry.scan
  return before === undefined ? telemetry : { ...telemetry, scan: before }
}

function fold(
  { telemetry, hasBooted }: ReceivedTelemetry,
  known: KnownReport | undefined,
  time: RecordTime,
): Folded | null {
  let before: TimedTelemetry | null = hasBooted ? null : (known ?? null)
  let bucket = known?.bucket ?? null
  const closed: Bucket[] = []
  for (const one of telemetry) {
    const timed = { telemetry: one, atMs: time.atMs }
    const rated = { ...timed, telemetry: decideRates(before, timed) }
    const next = addSample(bucket, sampleOf(before, rated), time.at.getTime() / 1000)
    if (next.closed !== null) closed.push(next.closed)
    bucket = next.open
    before = { ...rated, telemetry: withScan(rated.telemetry, before ?? known ?? null, time) }
  }
  return before === null || bucket === null || telemetry.length === 0
    ? null
    : { telemetry: before.telemetry, bucket, closed }
}
