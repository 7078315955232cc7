import { sql } from 'kysely'
import type { InOrg, SitesScope } from '../../access/scope.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Tx, anyOf, json, noneOf } from '../../platform/database/db.ts'
import { columnsOf, insertRows } from '../../platform/database/rows.ts'
import type { UpgradeHold } from '../../rollout/rollout.ts'
import { listSessions } from '../sessions/store.ts'
import { selectMxedges } from '../store.ts'
import type { Candidate } from './candidate.ts'
import { listUpgradeNames } from './store-records.ts'
import {
  type MxedgeStep,
  type MxedgeTargetCounts,
  type MxedgeUpgradeNote,
  type MxedgeUpgradePlan,
  terminalStates,
} from './upgrade.ts'

/** The limits of an upgrade's candidates. Null: no such limit. */
export interface CandidateFilter {
  readonly siteId: string | null
  readonly ids: readonly string[] | null
}

/** Lists appliances that the scope covers, locked until `tx` ends, so that two upgrades never plan the same one. */
export async function lockCandidates(
  tx: Tx,
  scope: SitesScope,
  { siteId, ids }: CandidateFilter,
): Promise<Candidate[]> {
  const covered = selectMxedges(tx, scope).orderBy('id').forUpdate()
  const all = siteId === null ? covered : covered.where('siteId', '=', siteId)
  const mxedges = await (ids === null ? all : all.where('id', '=', anyOf(ids))).execute()
  const found = mxedges.map(({ id }) => id)
  const sessions = new Map((await listSessions(tx, scope, found)).map((session) => [session.mxedgeId, session]))
  const active = new Map((await listActive(tx, scope, found)).map(({ mxedgeId, upgradeId }) => [mxedgeId, upgradeId]))
  const names = await listUpgradeNames(tx, scope, [...new Set(active.values())])
  return mxedges.map(({ id, name, mac, model, siteId, mxclusterId, registrationEpoch, registeredKey }) => {
    const session = sessions.get(id)
    return {
      id,
      name,
      mac,
      model,
      siteId,
      clusterId: mxclusterId,
      registrationEpoch,
      isRegistered: registeredKey !== null,
      connected: session?.connected === true && session.lostAt === null,
      reported: session === undefined ? null : { ...session.facts, services: session.report?.services ?? [] },
      upgradeId: active.get(id) ?? null,
      upgradeName: names.get(active.get(id) ?? '') ?? null,
    }
  })
}

function listActive(
  tx: Tx,
  scope: InOrg,
  ids: readonly string[],
): Promise<{ readonly mxedgeId: string; readonly upgradeId: string }[]> {
  return tx
    .selectFrom('mxedgeUpgradeTarget')
    .select(['mxedgeId', 'upgradeId'])
    .where('orgId', '=', scope.orgId)
    .where('mxedgeId', '=', anyOf(ids))
    .where(sql<boolean>`state <> ${noneOf(terminalStates)}`)
    .execute()
}

export interface NewUpgrade {
  readonly id: string
  readonly siteId: string | null
  readonly request: Readonly<Record<string, unknown>>
  readonly plan: MxedgeUpgradePlan
  readonly counts: MxedgeTargetCounts
  readonly notes: readonly MxedgeUpgradeNote[]
  readonly startAt: Date
  /** The person who asks for it; null: a program. */
  readonly adminId: string | null
  /** Null: it does not wait. */
  readonly hold: UpgradeHold | null
  /** The filter for appliances that may join; null: none. */
  readonly joining: Readonly<Record<string, unknown>> | null
  /** When it looks for them, in service time; null: never. */
  readonly includeDueMs: number | null
  readonly targets: readonly NewTarget[]
}

export interface NewTarget {
  readonly mxedgeId: string
  readonly name: string
  readonly phase: number
  readonly wave: number
  readonly ordinal: number
  readonly registrationEpoch: number
  readonly plannedSiteId: string | null
  readonly steps: readonly MxedgeStep[]
  readonly state: 'planned' | 'skipped'
  readonly reason: string | null
}

type Times = { readonly at: Date; readonly nowMs: number }

/** Inserts an upgrade with its targets. */
export async function insertUpgrade(tx: Tx, scope: InOrg, upgrade: NewUpgrade, { at, nowMs }: Times): Promise<void> {
  const { id, siteId } = upgrade
  await tx
    .insertInto('mxedgeUpgrade')
    .values({ orgId: scope.orgId, id, siteId, ...contentOf(upgrade, at), createdAt: at })
    .execute()
  await insertTargets(tx, scope, upgrade, nowMs)
  noteChanges(tx, 'mxedge_upgrade', [{ orgId: scope.orgId, id }])
}

/**
 * Replaces the request, the plan and the targets of a locked upgrade that has not begun. Approvals of the former plan don't count for
 * the new one, and appliances that had left the upgrade may be in it again. Failures to join are deleted, because the upgrade may
 * search no more, or elsewhere.
 */
export async function replaceUpgrade(tx: Tx, scope: InOrg, upgrade: NewUpgrade, { at, nowMs }: Times): Promise<void> {
  await deleteTargets(tx, scope, upgrade.id)
  await tx
    .deleteFrom('mxedgeUpgradeJoiningFailure')
    .where('orgId', '=', scope.orgId)
    .where('upgradeId', '=', upgrade.id)
    .execute()
  await tx
    .updateTable('mxedgeUpgrade')
    .set({ ...contentOf(upgrade, at), approvals: json([]), released: 0, includeAfter: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', upgrade.id)
    .execute()
  await insertTargets(tx, scope, upgrade, nowMs)
  noteChanges(tx, 'mxedge_upgrade', [{ orgId: scope.orgId, id: upgrade.id }])
}

/** Deletes the targets of a locked upgrade before it is planned again, so that it may choose the same appliances. */
export async function deleteTargets(tx: Tx, scope: InOrg, id: string): Promise<void> {
  await tx.deleteFrom('mxedgeUpgradeTarget').where('orgId', '=', scope.orgId).where('upgradeId', '=', id).execute()
}

/** An upgrade that has nothing to do has ended, whenever it was to start. */
function contentOf({ request, plan, counts, notes, joining, hold, ...rest }: NewUpgrade, at: Date) {
  const { startAt, includeDueMs, adminId } = rest
  const documents = { request: json(request), plan: json(plan), counts: json(counts), notes: json(notes) }
  const isEmpty = plan.planned === 0
  const standing = { status: isEmpty ? 'completed' : 'queued', finishedAt: isEmpty ? at : null } as const
  const waits = { hold: hold && json(hold), joining: joining && json(joining), includeDueMs }
  return { ...documents, ...standing, ...waits, startAt, adminId }
}

const targetColumns = columnsOf('mxedgeUpgradeTarget', {
  orgId: 'uuid',
  upgradeId: 'uuid',
  mxedgeId: 'uuid',
  name: 'text',
  phase: 'integer',
  wave: 'integer',
  ordinal: 'integer',
  registrationEpoch: 'integer',
  plannedSiteId: 'uuid',
  steps: 'jsonb',
  state: 'text',
  reason: 'text',
  enteredMs: 'float8',
})

export async function insertTargets(
  tx: Tx,
  scope: InOrg,
  { id, targets }: Pick<NewUpgrade, 'id' | 'targets'>,
  enteredMs: number,
): Promise<void> {
  await insertRows(tx, targetColumns, targets, { every: { orgId: scope.orgId, upgradeId: id, enteredMs } })
}
