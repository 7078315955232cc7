import { sql } from 'kysely'
import type { InOrg, SiteScope } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { columnsOf, insertRows } from '../../platform/database/rows.ts'
import { type Bucket, meanOf } from './decide-bucket.ts'
import type { DeviceKey } from './store-reports.ts'

/** The number of full days for which buckets are stored, for preparePartitions(). */
export const keptDays = { device_series: 2 } as const

const seriesColumns = columnsOf('deviceSeries', {
  orgId: 'uuid',
  deviceId: 'uuid',
  createdAt: 'timestamptz',
  samples: 'integer',
  cpu: 'real',
  memory: 'real',
  clients: 'real',
  rxBytes: 'bigint',
  txBytes: 'bigint',
  uptime: 'bigint',
  util24: 'real',
  util5: 'real',
  util6: 'real',
  clients24: 'real',
  clients5: 'real',
  clients6: 'real',
})

/** If the clock was set back and a bucket is made twice, its first values stay. */
export async function insertBuckets(
  tx: Tx,
  buckets: readonly (DeviceKey & { readonly bucket: Bucket })[],
): Promise<void> {
  const rows = buckets.map(({ orgId, deviceId, bucket }) => ({ orgId, deviceId, ...valuesOf(bucket) }))
  await insertRows(tx, seriesColumns, rows, { tail: sql`on conflict do nothing` })
}

/** The values of a bucket, over or not. */
export interface SeriesPoint {
  readonly createdAt: Date
  readonly samples: number
  readonly cpu: number | null
  readonly memory: number | null
  readonly clients: number | null
  readonly rxBytes: string | null
  readonly txBytes: string | null
  readonly uptime: string | null
  readonly util24: number | null
  readonly util5: number | null
  readonly util6: number | null
  readonly clients24: number | null
  readonly clients5: number | null
  readonly clients6: number | null
}

function valuesOf(bucket: Bucket): SeriesPoint {
  const textOf = (value: number | undefined): string | null => (value === undefined ? null : String(value))
  return {
    createdAt: new Date(bucket.at * 1000),
    samples: bucket.samples,
    cpu: meanOf(bucket, 'cpu'),
    memory: meanOf(bucket, 'memory'),
    clients: meanOf(bucket, 'clients'),
    rxBytes: textOf(bucket.rx_bytes),
    txBytes: textOf(bucket.tx_bytes),
    uptime: textOf(bucket.uptime),
    util24: meanOf(bucket, 'util_24'),
    util5: meanOf(bucket, 'util_5'),
    util6: meanOf(bucket, 'util_6'),
    clients24: meanOf(bucket, 'clients_24'),
    clients5: meanOf(bucket, 'clients_5'),
    clients6: meanOf(bucket, 'clients_6'),
  }
}

export interface SeriesRange {
  readonly deviceId: string
  readonly start: Date
  readonly end: Date
}

/**
 * Lists the buckets of a device of the site that begin in the range, including the current one, in the order of time.
 * Buckets that began before the device came into the site are left out: another site may not see them.
 * @returns Undefined if the site has no such device.
 */
export async function listBuckets(
  reader: Reader,
  { orgId, siteId }: SiteScope,
  { deviceId, start, end }: SeriesRange,
): Promise<SeriesPoint[] | undefined> {
  const device = await reader
    .selectFrom('device')
    .leftJoin('deviceReport as report', (join) =>
      join.onRef('report.orgId', '=', 'device.orgId').onRef('report.deviceId', '=', 'device.id'),
    )
    .select(['device.siteSince', 'report.bucket'])
    .where('device.orgId', '=', orgId)
    .where('device.siteId', '=', siteId)
    .where('device.id', '=', deviceId)
    .executeTakeFirst()
  if (device === undefined) return undefined
  const { siteSince, bucket: open } = device
  if (siteSince === null) return []
  const from = siteSince > start ? siteSince : start
  const { rows: stored } = await sql<SeriesPoint>`
    select created_at, samples, cpu, memory, clients, rx_bytes, tx_bytes, uptime, util24, util5, util6, clients24,
      clients5, clients6
    from device_series
    where org_id = ${orgId} and device_id = ${deviceId} and created_at >= ${from} and created_at < ${end}
    order by created_at`.execute(reader)
  if (!open || open.at * 1000 < from.getTime() || open.at * 1000 >= end.getTime()) return stored
  return [...stored.filter(({ createdAt }) => createdAt.getTime() !== open.at * 1000), valuesOf(open)]
}

/** Deletes the buckets of devices that leave the organization. */
export async function deleteBuckets(tx: Tx, scope: InOrg, deviceIds: readonly string[]): Promise<void> {
  await tx
    .deleteFrom('deviceSeries')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .execute()
}
