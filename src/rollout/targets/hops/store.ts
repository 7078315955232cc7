import { sql } from 'kysely'
import type { OrgScope } from '../../../access/scope.ts'
import type { Tx } from '../../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../../platform/database/rows.ts'
import type { UpgradeHop } from './hops.ts'
import type { Now } from '../../site-upgrade-now.ts'

/** The version that a target goes on to. */
export interface TargetHop {
  readonly upgradeId: string
  readonly deviceId: string
  readonly hop: UpgradeHop
  /** The target leaves the phase of its download. */
  readonly leaves: boolean
}

const hopColumns = columnsOf('upgradeTarget', { orgId: 'uuid', upgradeId: 'uuid', deviceId: 'uuid' }, {
  hop: 'jsonb',
  leaves: 'boolean',
} as const)

/**
 * Sends targets on to the next versions of their paths, and records in these when the device got the last one, and for
 * how long it was down. Called after the steps of the round are written.
 */
export async function updateHops(
  tx: Tx,
  scope: OrgScope,
  hops: readonly TargetHop[],
  { now, nowMs }: Pick<Now, 'now' | 'nowMs'>,
): Promise<void> {
  const rows = hops.map((hop) => Object.assign({ orgId: scope.orgId }, hop))
  await sql`
    update upgrade_target target set
      image_id = (next.hop->>'image_id')::uuid, target_version = next.hop->>'version', reported = next.hop->'reported',
      fetched = false, staged = false, retry_at_ms = null, down_at = null, up_at = null,
      download_phase = case when not next.leaves then target.download_phase end,
      entered_at = ${now}::timestamptz, entered_ms = ${nowMs}::float8,
      path = (
        select jsonb_agg(case when hop->>'version' <> target.target_version then hop
          else hop || jsonb_strip_nulls(jsonb_build_object('done_ms', ${now.getTime()}::float8,
            'down_ms', round(extract(epoch from target.down_at) * 1000),
            'up_ms', round(extract(epoch from target.up_at) * 1000))) end order by place)
        from jsonb_array_elements(target.path) with ordinality as step (hop, place))
    from ${rowsAs('next', hopColumns, rows)}
    where target.org_id = next.org_id and target.upgrade_id = next.upgrade_id and target.device_id = next.device_id
  `.execute(tx)
}
