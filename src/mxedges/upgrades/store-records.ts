import { type Selectable, sql } from 'kysely'
import { type InOrg, type OrgScope, type SitesScope, siteIdOf } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import type { PhaseApproval, UpgradeHold } from '../../rollout/rollout.ts'
import { usedByUpgrade } from '../../firmware/firmware.ts'
import { resumedAt } from '../../rollout/gates/store-hold.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Reader, type Tx, anyOf, json, noneOf } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'
import { awaitedCount } from './store-awaited.ts'
import { upgradeNotes } from './store-joining-failures.ts'
import { siteOf } from './store-place.ts'
import { terminalStates } from './upgrade.ts'
import type { MxedgeUpgradeTable, MxedgeUpgradeTargetTable } from '../tables.ts'

export type MxedgeUpgrade = Selectable<MxedgeUpgradeTable>
export type MxedgeUpgradeItem = Omit<
  MxedgeUpgrade,
  | 'adminId'
  | 'approvals'
  | 'released'
  | 'notes'
  | 'joining'
  | 'includeDueMs'
  | 'includeAfter'
  | 'checkDueMs'
  | 'checkAttempts'
>
type UpgradeKey = Pick<MxedgeUpgrade, 'orgId' | 'id'>
export type MxedgeUpgradeTarget = Selectable<MxedgeUpgradeTargetTable>

/** Selects the upgrades of the organization, or those that belong to the site where the scope is that of a site. */
function selectUpgrades(reader: Reader, scope: SitesScope) {
  const siteId = siteIdOf(scope)
  const all = reader.selectFrom('mxedgeUpgrade').where('orgId', '=', scope.orgId)
  return siteId === null ? all : all.where(siteOf('mxedge_upgrade'), '=', siteId)
}

/** Lists upgrades, the newest first. Their notes are omitted, and the ids of their requests, without which a request is bounded. */
export function listUpgrades(reader: Reader, scope: SitesScope, page: Page): Promise<Paged<MxedgeUpgradeItem>> {
  const hits = selectItems(reader, scope)
  return pageOf<MxedgeUpgradeItem>(reader, { hits, direction: 'desc', sizes: smallRows }, page)
}

/** Lists upgrades as listUpgrades() does, with the sites to which they belong. */
export function listUpgradesById(
  reader: Reader,
  scope: SitesScope,
  ids: readonly string[],
): Promise<(MxedgeUpgradeItem & { readonly place: string | null })[]> {
  const items = selectItems(reader, scope).select(siteOf('mxedge_upgrade').as('place'))
  return items.where('id', '=', anyOf(ids)).orderBy('id').execute()
}

function selectItems(reader: Reader, scope: SitesScope) {
  return (
    selectUpgrades(reader, scope)
      .select(['orgId', 'id', 'siteId', 'status', 'stopping', 'stopReason', 'hold', 'currentPhase'])
      .select(['gatePassed', 'phaseOpenedMs', 'counts', 'hardFailures', 'upgradedByPhase', 'startAt', 'createdAt'])
      .select(['finishedAt', 'waitsUntil', sql<MxedgeUpgrade['request']>`request - 'mxedge_ids'`.as('request')])
      // Omitted, because there may be windows of ten thousand sites.
      .select(sql<MxedgeUpgrade['plan']>`plan - 'windows'`.as('plan'))
  )
}

export interface MxedgeUpgradeDetail extends MxedgeUpgrade {
  /** The number of appliances of other upgrades that it awaits. */
  readonly awaited: number
  /** The address of the person `adminId`; null: there is no such account. */
  readonly creatorName: string | null
}

/** Gets an upgrade as it is at an instant, with the appliances that could not join it among its notes. @throws AppError not_found */
export async function getUpgrade(
  reader: Reader,
  scope: SitesScope,
  { id, at }: { readonly id: string; readonly at: Date },
): Promise<MxedgeUpgradeDetail> {
  const row = await selectUpgrades(reader, scope)
    .selectAll()
    .select([upgradeNotes.as('allNotes'), awaitedCount(at).as('awaited')])
    .select((of) =>
      of.selectFrom('admin').select('email').whereRef('admin.id', '=', 'mxedgeUpgrade.adminId').as('creatorName'),
    )
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) throw notFound(id)
  const { allNotes: notes, ...upgrade } = row
  return { ...upgrade, notes }
}

/** When the first command of a phase was queued, and, once the phase has nothing left to do, when the last one ended. */
export interface MxedgePhaseTimes {
  readonly phase: number
  readonly begunAt: Date
  readonly endedAt: Date | null
}

/** A serial upgrade has as many phases as appliances. */
export const MAX_PHASE_TIMES = 100

/**
 * Lists the times of the last phases that have begun. A phase is left out once the first command of one of its appliances was
 * deleted: it may have begun earlier than any command that is stored.
 */
export async function listPhaseTimes(reader: Reader, { orgId, id }: UpgradeKey): Promise<MxedgePhaseTimes[]> {
  const { rows } = await sql<MxedgePhaseTimes>`
    select target.phase, min(first.created_at) as begun_at,
      case when bool_and(target.state = ${anyOf(terminalStates)}) then max(last.finished_at) end as ended_at
    from mxedge_upgrade_target target
    left join mxedge_command first on first.org_id = target.org_id and first.upgrade_id = target.upgrade_id
      and first.mxedge_id = target.mxedge_id and first.upgrade_attempt = 1
    left join mxedge_command last on last.org_id = target.org_id and last.upgrade_id = target.upgrade_id
      and last.mxedge_id = target.mxedge_id and last.upgrade_attempt = target.attempt
    where target.org_id = ${orgId} and target.upgrade_id = ${id}
    group by target.phase having count(first.id) > 0 and bool_and(first.id is not null or target.attempt = 0)
    order by target.phase desc limit ${MAX_PHASE_TIMES}
  `.execute(reader)
  return rows.toReversed()
}

/** Lists the names of those of the upgrades that have one. */
export async function listUpgradeNames(
  tx: Tx,
  scope: InOrg,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await tx
    .selectFrom('mxedgeUpgrade')
    .select(['id', sql<string>`request->>'name'`.as('name')])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .where(sql<boolean>`request ? 'name'`)
    .execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Locks it against the worker, as the worker does. @throws AppError not_found */
export async function lockUpgrade(tx: Tx, scope: SitesScope, id: string): Promise<MxedgeUpgrade> {
  const row = await selectUpgrades(tx, scope).selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
  if (row === undefined) throw notFound(id)
  return row
}

/** Lists the targets of an upgrade that the caller has found, in the order of the plan. */
export function listUpgradeTargets(
  reader: Reader,
  { orgId, id }: UpgradeKey,
  page: Page,
): Promise<Paged<MxedgeUpgradeTarget>> {
  const hits = reader
    .selectFrom('mxedgeUpgradeTarget')
    .selectAll()
    .where('orgId', '=', orgId)
    .where('upgradeId', '=', id)
  return pageOf<MxedgeUpgradeTarget>(reader, { hits, order: ['ordinal'], sizes: smallRows }, page)
}

/** Stops a locked upgrade that has not ended. The worker ends it. It takes in nothing more, also if the stop comes too late. */
export async function stopUpgrade(tx: Tx, { orgId, id }: MxedgeUpgrade, reason: string): Promise<void> {
  await tx
    .updateTable('mxedgeUpgrade')
    .set({ stopping: 'cancelled', stopReason: reason, hold: null, waitsUntil: null, ...noSearch })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}

/** Without a filter, a retry does not let the upgrade search again. */
const noSearch = { joining: null, includeDueMs: null, includeAfter: null } as const

/** Ends the search of a locked upgrade for good. */
export async function closeSearch(tx: Tx, { orgId, id }: MxedgeUpgrade): Promise<void> {
  await tx.updateTable('mxedgeUpgrade').set(noSearch).where('orgId', '=', orgId).where('id', '=', id).execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}

export async function pauseUpgrade(tx: Tx, { orgId, id }: UpgradeKey, hold: UpgradeHold): Promise<void> {
  await tx
    .updateTable('mxedgeUpgrade')
    .set({ hold: json(hold) })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}

/** Resumes a locked upgrade that is paused. */
export async function resumeUpgrade(tx: Tx, { orgId, id }: UpgradeKey, nowMs: number): Promise<void> {
  await tx.updateTable('mxedgeUpgrade').set(resumedAt(nowMs)).where('orgId', '=', orgId).where('id', '=', id).execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}

/** Updates the request of a locked upgrade by one that has the same plan. */
export async function updateRequest(
  tx: Tx,
  { orgId, id }: MxedgeUpgrade,
  request: Readonly<Record<string, unknown>>,
): Promise<void> {
  await tx
    .updateTable('mxedgeUpgrade')
    .set({ request: json(request) })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}

/** Records who opens a phase of a locked upgrade. */
export async function insertApproval(tx: Tx, { orgId, id }: UpgradeKey, approval: PhaseApproval): Promise<void> {
  await tx
    .updateTable('mxedgeUpgrade')
    .set({ approvals: sql`approvals || ${JSON.stringify([approval])}::jsonb` })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
}

/** As FindImageUser: the reason is an upgrade one of whose targets has not ended and will download the image. */
export async function findMxedgeUpgradeWithImage(tx: Tx, scope: OrgScope, imageId: string): Promise<string | null> {
  const target = await tx
    .selectFrom('mxedgeUpgrade as upgrade')
    .innerJoin('mxedgeUpgradeTarget as target', (on) =>
      on.onRef('target.orgId', '=', 'upgrade.orgId').onRef('target.upgradeId', '=', 'upgrade.id'),
    )
    .select('upgrade.id')
    .where('upgrade.orgId', '=', scope.orgId)
    .where('upgrade.finishedAt', 'is', null)
    .where(sql<boolean>`target.state <> ${noneOf(terminalStates)}`)
    .where(sql<boolean>`target.steps @> ${json([{ image_id: imageId }])}::jsonb`)
    .limit(1)
    .executeTakeFirst()
  return target === undefined ? null : usedByUpgrade(target.id)
}
