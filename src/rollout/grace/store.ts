import { sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import { type Tx, noneOf } from '../../platform/database/db.ts'
import type { Witnesses } from './decide-grace.ts'
import { terminalStates } from '../rollout.ts'

export interface WitnessQuery {
  /** Service time; connections that were lost earlier do not count. */
  readonly sinceMs: number
  /** The versions in question. */
  readonly versions: readonly string[]
}

/**
 * Lists, by site, the organization's devices that are connected or lost their connection, and that can't run a version
 * in question: they reported another one, and a device that lost its connection did not have the whole image of any
 * upgrade. So a device counts that was commanded and vanished before it could flash, but no device that an upgrade took
 * down, and none that is retried, because the image of an earlier run may have reached it. The targets of a device are
 * found by its id only, and only for lost devices: otherwise PostgreSQL would search the primary key by the organization
 * and read all its targets for each device.
 */
export async function listWitnesses(
  tx: Tx,
  scope: OrgScope,
  { sinceMs, versions }: WitnessQuery,
): Promise<Witnesses[]> {
  const isLost = sql`session.disconnected_ms >= ${sinceMs}::float8`
  const { rows } = await sql<Witnesses>`
    select device.site_id, (count(*) filter (where session.connected))::integer as connected,
      coalesce(jsonb_agg(jsonb_build_object('lostMs', session.disconnected_ms,
        'backMs', case when session.connected then coalesce(session.returned_ms, session.connected_ms) end)) filter (where ${isLost}), '[]') as outages
    from device
    cross join lateral (select * from device_session where device_id = device.id limit 1) session
    cross join lateral (
      select firmware from device_status where org_id = device.org_id and device_id = device.id limit 1) status
    where device.org_id = ${scope.orgId} and (session.connected or ${isLost})
      and status.firmware <> ${noneOf(versions)}
      and case when ${isLost} then not exists (
        select from (select * from upgrade_target where device_id = device.id offset 0) target
        left join firmware_download download
          on download.org_id = target.org_id and download.command_id = target.command_id
        where target.org_id = device.org_id
          and (target.state <> ${noneOf(terminalStates)} or target.entered_ms >= ${sinceMs}::float8)
          and (target.run > 1 or target.fetched or target.staged or download.delivered_at is not null
            or target.state in ('verifying', 'snapshotting', 'rolling_back', 'upgraded', 'failed'))) else true end
    group by device.site_id
  `.execute(tx)
  return rows
}

/** Sets until when absent devices of these site upgrades are not given up. */
export async function updateGrace(
  tx: Tx,
  scope: OrgScope,
  siteUpgradeIds: readonly string[],
  untilMs: number,
): Promise<void> {
  await sql`update site_upgrade set grace_until_ms = ${untilMs}
    where org_id = ${scope.orgId} and id = any(${siteUpgradeIds})`.execute(tx)
}
