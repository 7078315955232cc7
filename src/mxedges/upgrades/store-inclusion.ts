import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { isOpenToOthers } from './notes.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Reader, type Tx, anyOf, json, noneOf } from '../../platform/database/db.ts'
import { columnsOf, updateRows } from '../../platform/database/rows.ts'
import { type NewTarget, insertTargets } from './store-create.ts'
import type { MxedgeUpgrade } from './store-records.ts'
import { searchesIn } from '../../rollout/changes/store-searches.ts'
import { NO_PHASE } from '../../rollout/rollout.ts'
import { terminalStates } from './upgrade.ts'

export const mxedgeSearches = searchesIn('mxedge_upgrade')

/**
 * Locks an upgrade, and returns it if it searches for appliances to join. One that was stopped, or has ended and awaits none,
 * searches no longer.
 */
export async function lockIncluding(tx: Tx, scope: InOrg, id: string): Promise<MxedgeUpgrade | undefined> {
  const upgrade = await tx
    .selectFrom('mxedgeUpgrade')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
  if (upgrade === undefined || upgrade.includeDueMs === null || upgrade.stopping !== null) return undefined
  return isOpenToOthers(upgrade) ? upgrade : undefined
}

/** The appliances that a search of an upgrade has found. */
export interface JoiningLook {
  /** The ids of the appliances that may join, or whose reason to be skipped may have changed. */
  readonly ids: readonly string[]
  /** Why the upgrade skips those that it has as skipped targets. */
  readonly skipped: ReadonlyMap<string, string>
  /** The ids of the appliances that were read and that an upgrade has, this one or another. */
  readonly busy: ReadonlySet<string>
  /** The last appliance that was read; null at the end of the pass. */
  readonly last: string | null
}

/**
 * Lists appliances that the upgrade covers, that have connected once, that no upgrade has and that this one never had,
 * except as skipped by its plan. Also those that its plan skipped and that another upgrade has now.
 * @param portion At most `limit` appliances behind `after` are read.
 */
export async function listJoining(
  reader: Reader,
  { orgId, id, siteId }: Pick<MxedgeUpgrade, 'orgId' | 'id' | 'siteId'>,
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<JoiningLook> {
  let covered = reader.selectFrom('mxedge').select('id').where('orgId', '=', orgId)
  if (siteId !== null) covered = covered.where('siteId', '=', siteId)
  if (after !== null) covered = covered.where('id', '>', after)
  const looked = (await covered.orderBy('id').limit(limit).execute()).map((row) => row.id)
  const { rows } = await sql<{ id: string; skipReason: string | null; isBusy: boolean }>`
    select looked.id, case when own.phase = ${NO_PHASE} then own.reason end as skip_reason, is_busy
    from unnest(${looked}::uuid[]) as looked (id)
    cross join lateral (select exists (select from mxedge_upgrade_target target
      where target.mxedge_id = looked.id and target.org_id = ${orgId} and target.state <> ${noneOf(terminalStates)}) as is_busy) active
    left join mxedge_upgrade_target own on own.org_id = ${orgId} and own.upgrade_id = ${id} and own.mxedge_id = looked.id
    where is_busy or (own.phase is null or own.phase = ${NO_PHASE})
      and exists (select from mxedge_session session where session.org_id = ${orgId} and session.mxedge_id = looked.id)
  `.execute(reader)
  return {
    ids: rows.flatMap((row) => (row.isBusy && row.skipReason === null ? [] : [row.id])),
    skipped: new Map(rows.flatMap((row) => (row.skipReason === null ? [] : [[row.id, row.skipReason]]))),
    busy: new Set(rows.flatMap((row) => (row.isBusy ? [row.id] : []))),
    last: looked.length < limit ? null : (looked.at(-1) ?? null),
  }
}

/** A package that an upgrade installs; the catalog may have it no more. */
export interface InstalledPackage {
  readonly service: string
  readonly version: string
  readonly imageId: string
}

/** The packages that an upgrade installs, and how far its targets reach. */
export interface UpgradeExtent {
  readonly packages: readonly InstalledPackage[]
  readonly lastOrdinal: number
  /** The last wave of its last phase. */
  readonly lastWave: number
  /** The planned sites of its targets, without those that were skipped; null stands for no site. */
  readonly siteIds: readonly (string | null)[]
}

export async function findExtent(
  reader: Reader,
  { orgId, id, plan }: Pick<MxedgeUpgrade, 'orgId' | 'id' | 'plan'>,
): Promise<UpgradeExtent> {
  const { rows } = await sql<UpgradeExtent>`
    select coalesce(max(ordinal), 0) as last_ordinal,
      coalesce(max(wave) filter (where phase = ${plan.phases}), 0) as last_wave,
      coalesce(array_agg(distinct planned_site_id) filter (where phase <> ${NO_PHASE}), '{}') as site_ids,
      (select coalesce(jsonb_agg(distinct jsonb_build_object(
          'service', planned.step->'service', 'version', planned.step->'to', 'imageId', planned.step->'image_id'
        )) filter (where planned.step ? 'image_id'), '[]')
        from mxedge_upgrade_target other, jsonb_array_elements(other.steps) as planned (step)
        where other.org_id = ${orgId} and other.upgrade_id = ${id}) as packages
    from mxedge_upgrade_target target where target.org_id = ${orgId} and target.upgrade_id = ${id}
  `.execute(reader)
  return rows[0] ?? { packages: [], lastOrdinal: 0, lastWave: 0, siteIds: [] }
}

/**
 * Writes the targets that join a locked upgrade, and the changed upgrade. They replace those that its plan skipped. An upgrade
 * that has ended continues.
 */
export async function insertIncluded(
  tx: Tx,
  scope: InOrg,
  id: string,
  {
    plan,
    counts,
    notes,
    targets,
    nowMs,
    ...standing
  }: Pick<MxedgeUpgrade, 'plan' | 'counts' | 'notes' | 'status' | 'phaseOpenedMs'> & {
    readonly targets: readonly NewTarget[]
    readonly nowMs: number
  },
): Promise<void> {
  await tx
    .deleteFrom('mxedgeUpgradeTarget')
    .where('orgId', '=', scope.orgId)
    .where('upgradeId', '=', id)
    .where('mxedgeId', '=', anyOf(targets.map(({ mxedgeId }) => mxedgeId)))
    .execute()
  await insertTargets(tx, scope, { id, targets }, nowMs)
  await tx
    .updateTable('mxedgeUpgrade')
    .set({ ...standing, finishedAt: null, plan: json(plan), counts: json(counts), notes: json(notes) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId: scope.orgId, id }])
}

const reasonColumns = columnsOf('mxedgeUpgradeTarget', {
  orgId: 'uuid',
  upgradeId: 'uuid',
  mxedgeId: 'uuid',
  reason: 'text',
})

/** Writes why a locked upgrade skips targets by now. */
export async function updateSkipReasons(
  tx: Tx,
  { orgId, id: upgradeId }: Pick<MxedgeUpgrade, 'orgId' | 'id'>,
  reasons: ReadonlyMap<string, string>,
): Promise<void> {
  const rows = [...reasons].map(([mxedgeId, reason]) => ({ orgId, upgradeId, mxedgeId, reason }))
  await updateRows(tx, reasonColumns, rows, { key: ['orgId', 'upgradeId', 'mxedgeId'] })
}

/** Writes the notes of a locked upgrade. */
export async function updateNotes(
  tx: Tx,
  { orgId, id }: Pick<MxedgeUpgrade, 'orgId' | 'id'>,
  notes: MxedgeUpgrade['notes'],
): Promise<void> {
  await tx
    .updateTable('mxedgeUpgrade')
    .set({ notes: json(notes) })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}
