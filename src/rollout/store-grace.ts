import { sql } from 'kysely'
import type { OrgScope } from '../access/scope.ts'
import { type Tx, json } from '../platform/db.ts'
import type { Bystanders } from './decide-grace.ts'

export interface AbsenceCheck {
  readonly siteUpgradeId: string
  readonly siteId: string
  /** From when on a lost connection counts: service time, and the same on the wall clock. */
  readonly sinceMs: number
  readonly since: Date
}

/** Counts the devices of each site that its upgrade has not commanded, by site upgrade. Sites without any are left out. */
export async function countBystanders(
  tx: Tx,
  scope: OrgScope,
  checks: readonly AbsenceCheck[],
): Promise<Map<string, Bystanders>> {
  const rows = checks.map(({ siteUpgradeId, siteId, sinceMs, since }) => {
    return { id: siteUpgradeId, site_id: siteId, since_ms: sinceMs, since }
  })
  const counted = await sql<Bystanders & { readonly id: string }>`
    select checked.id, count(*)::integer as total, (count(*) filter (
        where case when session.connected then session.connected_ms >= checked.since_ms
          else status.disconnected_at >= checked.since end))::integer as moved
    from jsonb_to_recordset(${json(rows)}::jsonb) as checked (id uuid, site_id uuid, since_ms float8, since timestamptz)
    join device on device.org_id = ${scope.orgId} and device.site_id = checked.site_id
    join device_session session on session.device_id = device.id
    join device_status status on status.org_id = device.org_id and status.device_id = device.id
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
