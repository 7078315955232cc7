import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../../access/scope.ts'
import { type Reader, type Tx, anyOf } from '../../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../../platform/database/rows.ts'
import type { TargetKey } from '../store.ts'
import type { DeviceHealth, HealthNow } from '../target.ts'

/** A device whose last report is older than this has no baseline. */
const RECENT_MS = 3600e3

/** The document of a DeviceHealth, of the column `report` of `device_report`. */
const healthOf: RawBuilder<DeviceHealth> = sql`jsonb_build_object(
  'uplinks', (select coalesce(jsonb_agg(port->>'id' order by port->>'id'), '[]')
    from jsonb_array_elements(report->'ports') port
    where (port->>'uplink')::boolean and coalesce((port->>'up')::boolean, true)),
  'neighbors', (select coalesce(jsonb_agg(distinct name), '[]')
    from jsonb_array_elements(report->'neighbors') neighbor
    cross join lateral (
      select coalesce(neighbor->>'mac', neighbor->>'chassis_id', neighbor->>'system_name') as name) named
    where (neighbor->>'forwards')::boolean and name is not null),
  'radios', (select coalesce(jsonb_agg(distinct radio->>'band'), '[]')
    from jsonb_array_elements(report->'radios') radio),
  'clients', (report->'unit'->>'num_clients')::integer)`

const keyColumns = columnsOf('upgradeTarget', { orgId: 'uuid', upgradeId: 'uuid', deviceId: 'uuid' })

/** Records the health of the devices before they reboot, unless an earlier attempt has recorded it. */
export async function updateBaselines(
  tx: Tx,
  scope: InOrg,
  targets: readonly TargetKey[],
  nowMs: number,
): Promise<void> {
  if (targets.length === 0) return
  const keys = targets.map(({ upgradeId, deviceId }) => ({ orgId: scope.orgId, upgradeId, deviceId }))
  await sql`
    update upgrade_target target set baseline = ${healthOf}
    from ${rowsAs('commanded', keyColumns, keys)}
    cross join lateral (
      select * from device_report
      where org_id = commanded.org_id and device_id = commanded.device_id and reported_ms > ${nowMs - RECENT_MS}
      limit 1) known
    where target.org_id = commanded.org_id and target.upgrade_id = commanded.upgrade_id
      and target.device_id = commanded.device_id and target.baseline is null
  `.execute(tx)
}

/** Returns the health of the devices of these targets, by device. A report over an earlier connection is not evidence. */
export async function listHealth(
  reader: Reader,
  scope: InOrg,
  targets: readonly TargetKey[],
): Promise<ReadonlyMap<string, HealthNow>> {
  if (targets.length === 0) return new Map()
  const keys = targets.map(({ upgradeId, deviceId }) => ({ orgId: scope.orgId, upgradeId, deviceId }))
  const { rows } = await sql<{
    readonly deviceId: string
    readonly baseline: DeviceHealth | null
    readonly reportedMs: number | null
    readonly health: DeviceHealth | null
  }>`
    select wanted.device_id, target.baseline, known.reported_ms, known.health
    from ${rowsAs('wanted', keyColumns, keys)}
    join upgrade_target target on target.org_id = wanted.org_id and target.upgrade_id = wanted.upgrade_id
      and target.device_id = wanted.device_id
    left join lateral (
      select reported_ms, ${healthOf} as health from device_report
      where org_id = wanted.org_id and device_id = wanted.device_id
        and epoch = (select epoch from device_session where device_id = wanted.device_id)
      limit 1) known on true
  `.execute(reader)
  return new Map(
    rows.map(({ deviceId, baseline, reportedMs, health }) => [
      deviceId,
      { baseline, latest: reportedMs === null || health === null ? null : { reportedMs, health } },
    ]),
  )
}

/** Returns those of the devices that have reported how they are, whenever that was. */
export async function listReporting(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await reader
    .selectFrom('deviceReport')
    .select('deviceId')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', anyOf(deviceIds))
    .execute()
  return new Set(rows.map(({ deviceId }) => deviceId))
}
