import { type RawBuilder, sql } from 'kysely'
import type { SiteScope } from '../../access/scope.ts'
import type { Reader } from '../../platform/database/db.ts'

/** The switches or gateways of a site. */
export interface MetricsOf {
  readonly type: 'switch' | 'gateway'
  /** Limits the metrics to this device; null for all. */
  readonly mac: string | null
}

/** The maximum number of device names in an answer. */
export const MAX_SYSTEM_NAMES = 1000

export interface PortTotals {
  /** All devices, those without a report included. */
  readonly devices: number
  /** The devices that have reported their ports. */
  readonly reported: number
  readonly active: number
  readonly total: number
}

/** Adds up the ports of devices. */
export async function findPortTotals(reader: Reader, scope: SiteScope, of: MetricsOf): Promise<PortTotals> {
  const { rows } = await sql<PortTotals>`
    select count(*)::integer as devices,
      (count(*) filter (where summary.total_ports > 0))::integer as reported,
      coalesce(sum(summary.active_ports), 0)::integer as active,
      coalesce(sum(summary.total_ports), 0)::integer as total
    from device
      left join device_summary summary on summary.org_id = device.org_id and summary.device_id = device.id
    where ${areOf(scope, of)}`.execute(reader)
  const [totals] = rows
  if (totals === undefined) throw new Error('an aggregate without groups has one row')
  return totals
}

export interface ConfigTotals {
  /** The devices that have reported the version of a configuration. */
  readonly reported: number
  /** The number of devices that have applied the newest configuration that they received. */
  readonly applied: number
}

/**
 * Counts the devices that have applied their configuration. A device without one reports version 0, and does not count.
 * The applied version may be reported later than the received one, so a greater version counts as applied too.
 */
export async function findConfigTotals(reader: Reader, scope: SiteScope, of: MetricsOf): Promise<ConfigTotals> {
  const { rows } = await sql<ConfigTotals>`
    with known as (
      select (status.load ->> 'config_version')::bigint as applied,
        coalesce(status.load ->> 'config_latest', status.load ->> 'config_version')::bigint as latest
      from device
        join device_status status on status.org_id = device.org_id and status.device_id = device.id
      where ${areOf(scope, of)} and status.load ? 'config_version'
    )
    select count(*)::integer as reported, (count(*) filter (where applied >= latest))::integer as applied
    from known where greatest(applied, latest) > 0`.execute(reader)
  const [totals] = rows
  if (totals === undefined) throw new Error('an aggregate without groups has one row')
  return totals
}

/** The version that most devices of a model run. */
export interface MajorVersion {
  readonly model: string
  readonly version: string
  /** The number of devices that run it. */
  readonly count: number
  /** The number of devices of the model whose version is known. */
  readonly total: number
  /** The names of those that run another one; the MAC of a device without a name. */
  readonly others: readonly string[]
}

/**
 * Lists the major versions of devices by model. If equally many devices run two versions, the greater one counts. The
 * names are the first MAX_SYSTEM_NAMES, by model and MAC.
 */
export async function listMajorVersions(reader: Reader, scope: SiteScope, of: MetricsOf): Promise<MajorVersion[]> {
  const { rows } = await sql<MajorVersion>`
    with known as materialized (
      select device.id, device.model, status.firmware as version, coalesce(device.name, device.mac) as name
      from device
        join device_status status on status.org_id = device.org_id and status.device_id = device.id
      where ${areOf(scope, of)} and status.firmware is not null
    ), counted as (
      select model, version, count(*) as count, sum(count(*)) over (partition by model) as total
      from known group by model, version
    ), major as (
      select distinct on (model) * from counted order by model, count desc, version collate "C" desc
    ), other as (
      select known.* from known join major using (model) where known.version <> major.version
      order by known.model, known.id limit ${MAX_SYSTEM_NAMES}
    )
    select model, version, count::integer, total::integer,
      array(select other.name from other where other.model = major.model order by other.id) as others
    from major order by model collate "C"`.execute(reader)
  return rows
}

/** SQL condition on `device`. */
function areOf({ orgId, siteId }: SiteScope, { type, mac }: MetricsOf): RawBuilder<unknown> {
  return sql`device.org_id = ${orgId} and device.site_id = ${siteId} and device.type = ${type}
    ${mac === null ? sql`` : sql`and device.mac = ${mac}`}`
}
