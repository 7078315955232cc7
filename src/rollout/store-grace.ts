import { sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import { type Tx, json } from '../platform/db.ts'
import type { Bystanders } from './decide-grace.ts'

export interface AbsenceCheck {
  readonly siteUpgradeId: string
  readonly siteId: string
  /** Connections that were lost before it do not count. Service time, here and below. */
  readonly absentSinceMs: number
  /** When the last grace was given: devices that were back by then do not count either. */
  readonly graceSinceMs: number
}

/** Counts the devices of each site that its upgrade has not commanded, by site upgrade. Sites without any are left out. */
export async function countBystanders(
  tx: Tx,
  scope: OrgScope,
  checks: readonly AbsenceCheck[],
): Promise<Map<string, Bystanders>> {
  const rows = checks.map(({ siteUpgradeId, siteId, absentSinceMs, graceSinceMs }) => {
    return { id: siteUpgradeId, site_id: siteId, absent_since_ms: absentSinceMs, grace_since_ms: graceSinceMs }
  })
  const counted = await sql<Bystanders & { readonly id: string }>`
    select checked.id, count(*)::integer as total, (count(*) filter (
        where session.disconnected_ms >= checked.absent_since_ms
          and (not session.connected or session.connected_ms >= checked.grace_since_ms)))::integer as moved
    from jsonb_to_recordset(${json(rows)}::jsonb) as checked (id uuid, site_id uuid, absent_since_ms float8,
      grace_since_ms float8)
    join device on device.org_id = ${scope.orgId} and device.site_id = checked.site_id
    join device_session session on session.device_id = device.id
    where not exists (
      select from upgrade_target target where target.org_id = device.org_id and target.upgrade_id = checked.id
        and target.device_id = device.id and target.attempt > 0)
    group by checked.id
  `.execute(tx)
  return new Map(counted.rows.map(({ id, ...bystanders }) => [id, bystanders]))
}

/** Sets until when no device of these site upgrades is given up for its absence. */
export async function updateGrace(
  tx: Tx,
  scope: OrgScope,
  siteUpgradeIds: readonly string[],
  untilMs: number,
): Promise<void> {
  await sql`update site_upgrade set grace_until_ms = ${untilMs}
    where org_id = ${scope.orgId} and id = any(${siteUpgradeIds})`.execute(tx)
}
