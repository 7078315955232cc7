import { type RawBuilder, sql } from 'kysely'
import { noteChanges } from '../../platform/database/changes.ts'
import type { Tx } from '../../platform/database/db.ts'
import { isNamed, noteOfOthers } from '../../rollout/changes/store-joining-failures.ts'
import type { MxedgeUpgradeNote } from './upgrade.ts'

/** The result of a search among the appliances behind `after`, up to `last`. */
export interface LookedAt {
  /** Null: from the first appliance on. */
  readonly after: string | null
  /** Null: up to the last appliance. */
  readonly last: string | null
  /** The one of them that could not join. */
  readonly failed: { readonly mxedgeId: string; readonly reason: string } | null
}

/**
 * Records why an appliance could not join a locked upgrade, instead of why the plan left it out. Deletes what was recorded
 * about the others among them: they have joined, left, or need nothing any more.
 */
export async function replaceJoiningFailures(
  tx: Tx,
  { orgId, id }: { readonly orgId: string; readonly id: string },
  { after, last, failed }: LookedAt,
): Promise<void> {
  const mxedgeId = failed?.mxedgeId ?? null
  const { rows } = await sql`
    with gone as (
      delete from mxedge_upgrade_joining_failure
      where org_id = ${orgId} and upgrade_id = ${id}
        and (${after}::uuid is null or mxedge_id > ${after}::uuid)
        and (${last}::uuid is null or mxedge_id <= ${last}::uuid)
        and mxedge_id is distinct from ${mxedgeId}::uuid
      returning mxedge_id
    ), changed as (
      insert into mxedge_upgrade_joining_failure as failure (org_id, upgrade_id, mxedge_id, reason)
      select ${orgId}::uuid, ${id}::uuid, ${mxedgeId}::uuid, ${failed?.reason ?? null}::text where ${mxedgeId}::uuid is not null
      on conflict (org_id, upgrade_id, mxedge_id) do update set reason = excluded.reason
      where failure.reason <> excluded.reason
      returning failure.mxedge_id
    ), unnoted as (
      update mxedge_upgrade set notes = (
        select coalesce(jsonb_agg(note order by place) filter (where note->>'mxedge_id' is distinct from ${mxedgeId}), '[]')
        from jsonb_array_elements(notes) with ordinality as noted (note, place))
      where org_id = ${orgId} and id = ${id} and notes @> jsonb_build_array(jsonb_build_object('mxedge_id', ${mxedgeId}::text))
    )
    select from gone union all select from changed
  `.execute(tx)
  if (rows.length > 0) noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}

/** The notes of `mxedge_upgrade`, followed by the appliances that could not join. */
export const upgradeNotes: RawBuilder<readonly MxedgeUpgradeNote[]> = sql`(
  select mxedge_upgrade.notes || ${noteOfOthers('edge appliance')}
    || coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('mxedge_id', mxedge_id, 'name', name, 'reason', reason))
      order by place) filter (where ${isNamed}), '[]')
  from (
    select mxedge_id, mxedge.name, reason, row_number() over (order by mxedge_id) as place
    from mxedge_upgrade_joining_failure failure
    left join mxedge on mxedge.org_id = failure.org_id and mxedge.id = failure.mxedge_id
    where failure.org_id = mxedge_upgrade.org_id and failure.upgrade_id = mxedge_upgrade.id) failed)`
