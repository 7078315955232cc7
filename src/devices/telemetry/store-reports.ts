import { type RawBuilder, sql } from 'kysely'
import type { DeviceType } from '../../events/device-type.ts'
import { type Tx, json } from '../../platform/database/db.ts'
import { columnsOf, insertRows, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import type { Bucket } from './decide-bucket.ts'
import type { TimedTelemetry } from './decide-rates.ts'
import type { DeviceSummary } from './summary.ts'
import type { Telemetry } from './telemetry.ts'

export interface DeviceKey {
  readonly orgId: string
  readonly deviceId: string
}

/** A device's last report, and the bucket that it belongs to. */
export interface KnownReport extends DeviceKey, TimedTelemetry {
  readonly bucket: Bucket | null
}

const keyColumns = columnsOf('deviceReport', { orgId: 'uuid', deviceId: 'uuid' })

interface ReportRow extends DeviceKey {
  readonly reportedMs: number
  readonly report: Omit<Telemetry, 'wireless' | 'wired'>
  readonly clients: Pick<Telemetry, 'wireless' | 'wired'>
  readonly bucket: Bucket | null
}

const selectKnown = statement<{ readonly keys: readonly DeviceKey[] }, ReportRow>(
  (param) => sql`
    select known.org_id, known.device_id, known.reported_ms, known.report, known.clients, known.bucket
    from ${rowsAs('wanted', keyColumns, param('keys'))}
    join device_report known on known.org_id = wanted.org_id and known.device_id = wanted.device_id
  `,
)

/** Returns the last reports of devices whose status is locked, by device. */
export async function listKnownReports(tx: Tx, keys: readonly DeviceKey[]): Promise<Map<string, KnownReport>> {
  const rows = await selectKnown(tx, { keys })
  return new Map(rows.map((row) => [row.deviceId, knownOf(row)]))
}

function knownOf({ orgId, deviceId, reportedMs, report, clients, bucket }: ReportRow): KnownReport {
  return { orgId, deviceId, atMs: reportedMs, telemetry: { ...report, ...clients }, bucket }
}

export interface NewReport extends DeviceKey {
  readonly siteId: string | null
  /** The session that carried it. */
  readonly epoch: string
  readonly telemetry: Telemetry
  readonly bucket: Bucket
}

interface ReportTime {
  readonly at: Date
  readonly atMs: number
}

const upsertDocument = statement<ReportTime & { readonly document: string }, unknown>(
  (param) => sql`
    insert into device_report (org_id, device_id, site_id, epoch, reported_at, reported_ms, report, clients, bucket)
    select org_id, device_id, site_id, epoch, ${param('at')}::timestamptz, ${param('atMs')}::float8, report, clients, bucket
    from jsonb_to_recordset(${param('document')}::jsonb) as reported
      (org_id uuid, device_id uuid, site_id uuid, epoch bigint, report jsonb, clients jsonb, bucket jsonb)
    on conflict (org_id, device_id) do update set site_id = excluded.site_id, epoch = excluded.epoch, bucket = excluded.bucket,
      reported_at = excluded.reported_at, reported_ms = excluded.reported_ms, report = excluded.report,
      clients = excluded.clients
  `,
)

/** Writes all rows as one document: in an array, PostgreSQL and its client would quote every mark of each document. */
export async function upsertReports(tx: Tx, reports: readonly NewReport[], { at, atMs }: ReportTime): Promise<void> {
  const rows = reports.map(({ orgId, deviceId, siteId, epoch, bucket, telemetry: { wireless, wired, ...report } }) => {
    return { org_id: orgId, device_id: deviceId, site_id: siteId, epoch, bucket, report, clients: { wireless, wired } }
  })
  await upsertDocument(tx, { at, atMs, document: json(rows) })
}

const summaryColumns = columnsOf('deviceSummary', {
  orgId: 'uuid',
  deviceId: 'uuid',
  type: 'text',
  band24Channel: 'integer',
  band24Bandwidth: 'integer',
  band24Power: 'integer',
  band5Channel: 'integer',
  band5Bandwidth: 'integer',
  band5Power: 'integer',
  band6Channel: 'integer',
  band6Bandwidth: 'integer',
  band6Power: 'integer',
  eth0PortSpeed: 'integer',
  lldpSystemName: 'text',
  lldpSystemDesc: 'text',
  lldpPortId: 'text',
  lldpPortDesc: 'text',
  lldpMgmtAddr: 'text',
  radioMacs: 'jsonb',
  activePorts: 'integer',
  totalPorts: 'integer',
  reportBytes: 'integer',
})

export interface NewSummary extends DeviceKey, DeviceSummary {
  readonly type: DeviceType
}

/** The columns of a device's summary that never change. */
const fixedColumns: ReadonlySet<string> = new Set(['orgId', 'deviceId', 'type'])

/** Writes the summaries that differ from the known ones. */
export async function upsertSummaries(tx: Tx, summaries: readonly NewSummary[]): Promise<void> {
  await insertRows(tx, summaryColumns, summaries, { tail: ifDistinct })
}

/** One for all calls, so that the statement is built once. */
const ifDistinct = updateDistinct()

function updateDistinct(): RawBuilder<never> {
  const columns = Object.keys(summaryColumns.types).filter((name) => !fixedColumns.has(name))
  const known = sql.join(columns.map((name) => sql.ref(`deviceSummary.${name}`)))
  const reported = sql.join(columns.map((name) => sql.ref(`excluded.${name}`)))
  const assignments = columns.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`)
  return sql`on conflict (org_id, device_id) do update set ${sql.join(assignments)}
    where (${known}) is distinct from (${reported})`
}
