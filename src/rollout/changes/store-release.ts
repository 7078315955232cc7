import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { counted } from '../../platform/counted.ts'
import { type Tx, anyOf, json } from '../../platform/database/db.ts'
import { columnsOf, rowsAs, updateRows } from '../../platform/database/rows.ts'
import { NO_PHASE } from '../rollout.ts'
import { appendedTo } from '../rounds/store.ts'
import { haltTargets, markStopping } from '../stops/store.ts'
import { type OnItsWay, leavingReason } from '../targets/hops/hops.ts'
import { encodeStep } from '../targets/timeline.ts'
import {
  type LosingSite,
  type ReleasedTarget,
  type SiteRelease,
  forgetDownloaded,
  planRelease,
  shrinkDownloads,
  shrinkPending,
  shrinkPendingDownloads,
  shrinkPlan,
} from './plan-release.ts'

export interface Release {
  /** Why the devices leave, as a verb: it follows their number in the record. */
  readonly reason: string
  readonly now: Date
  /** The same instant in service time. */
  readonly nowMs: number
}

const keyColumns = columnsOf('upgradeTarget', { orgId: 'uuid', upgradeId: 'uuid', deviceId: 'uuid' })
const siteColumns = columnsOf('siteUpgrade', {
  orgId: 'uuid',
  id: 'uuid',
  counts: 'jsonb',
  released: 'integer',
  plan: 'jsonb',
  downloads: 'jsonb',
})

/**
 * Removes devices from their upgrades, which end if no device remains. The caller has locked the organization upgrades and
 * the site upgrades, and releases the devices, or assigns them to another upgrade, in the same transaction.
 */
export async function updateReleased(
  tx: Tx,
  scope: InOrg,
  targets: readonly (ReleasedTarget & OnItsWay)[],
  { reason, now, nowMs }: Release,
): Promise<void> {
  // There are few reasons, because devices stay at few versions.
  for (const [left, some] of Map.groupBy(targets, (target) => leavingReason(reason, target)))
    await updateTargets(tx, scope, some, { reason: left, now, nowMs })
  const changes = planRelease(await listLosing(tx, scope, targets), targets)
  await updateSites(tx, scope, changes, { reason, nowMs })
  const stopped: string[] = []
  for (const [orgUpgradeId, some] of Map.groupBy(targets, (target) => target.orgUpgradeId)) {
    await updateOrg(tx, scope, orgUpgradeId, some)
    const mine = changes.filter((change) => change.orgUpgradeId === orgUpgradeId)
    const only = mine.filter(({ ends }) => ends === 'cancelled').map(({ id }) => id)
    if (only.length > 0)
      stopped.push(
        ...(await markStopping(tx, scope, orgUpgradeId, { becomes: 'cancelled', reason, at: now, nowMs, only })),
      )
    const done = mine.filter(({ ends }) => ends === 'by_results').map(({ id }) => id)
    if (done.length > 0) await endSites(tx, scope, { ids: done, nowMs })
  }
  await haltTargets(tx, scope, { groups: [stopped], at: now })
}

async function updateTargets(
  tx: Tx,
  scope: InOrg,
  targets: readonly ReleasedTarget[],
  { reason, now, nowMs }: Release,
): Promise<void> {
  const line = encodeStep({ state: 'cancelled', at: now, reason })
  const keys = targets.map((target) => ({ ...target, orgId: scope.orgId }))
  await sql`
    update upgrade_target target set state = 'cancelled', reason = ${reason}, phase = ${NO_PHASE}, download_phase = null,
      entered_at = ${now}::timestamptz, entered_ms = ${nowMs}::float8,
      timeline = ${appendedTo(sql`target.timeline`, sql`${line}::text`)}
    from ${rowsAs('released', keyColumns, keys)}
    where target.org_id = released.org_id and target.upgrade_id = released.upgrade_id and target.device_id = released.device_id
  `.execute(tx)
}

/** Makes the engine end site upgrades without remaining devices, also where they are paused. */
async function endSites(
  tx: Tx,
  scope: InOrg,
  { ids, nowMs }: { readonly ids: readonly string[]; readonly nowMs: number },
): Promise<void> {
  await tx
    .updateTable('siteUpgrade')
    .set({ hold: null, dueMs: nowMs })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .execute()
}

function listLosing(tx: Tx, scope: InOrg, targets: readonly ReleasedTarget[]): Promise<LosingSite[]> {
  return tx
    .selectFrom('siteUpgrade')
    .select(['id', 'orgUpgradeId', 'counts', 'released', 'stopping', 'plan', 'downloads'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf([...new Set(targets.map(({ upgradeId }) => upgradeId))]))
    .execute()
}

async function updateSites(
  tx: Tx,
  scope: InOrg,
  changes: readonly SiteRelease[],
  { reason, nowMs }: Pick<Release, 'reason' | 'nowMs'>,
): Promise<void> {
  const rows = changes.map((change) => ({ ...change, orgId: scope.orgId }))
  // While it is paused, nothing is due.
  await updateRows(tx, siteColumns, rows, {
    key: ['orgId', 'id'],
    set: sql`due_ms = case when site_upgrade.hold is null then ${nowMs}::float8 else site_upgrade.due_ms end`,
  })
  const notes = changes.map(({ id, lost }) => ({
    ...{ orgId: scope.orgId, id },
    notes: [{ reason: `${counted(lost, 'device was', 'devices were')} ${reason}` }],
  }))
  await sql`
    update site_upgrade set notes = site_upgrade.notes || noted.notes
    from ${rowsAs('noted', noteColumns, notes)}
    where site_upgrade.org_id = noted.org_id and site_upgrade.id = noted.id
  `.execute(tx)
}

const noteColumns = columnsOf('siteUpgrade', { orgId: 'uuid', id: 'uuid', notes: 'jsonb' })

async function updateOrg(tx: Tx, scope: InOrg, id: string, targets: readonly ReleasedTarget[]): Promise<void> {
  const { phasePlan, pendingByPhase, downloadPlan, downloads } = await tx
    .selectFrom('orgUpgrade')
    .select(['phasePlan', 'pendingByPhase', 'downloadPlan', 'downloads'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const ofDownloads = downloadPlan !== null &&
    downloads !== null && {
      downloadPlan: json(shrinkDownloads(downloadPlan, targets)),
      downloads: json({
        ...forgetDownloaded(downloads, targets),
        pending: shrinkPendingDownloads(downloads.pending, targets),
      }),
    }
  const ofReboots = phasePlan !== null && {
    phasePlan: json(shrinkPlan(phasePlan, targets)),
    pendingByPhase: json(shrinkPending(pendingByPhase, targets)),
  }
  if (ofDownloads === false && ofReboots === false) return
  await tx
    .updateTable('orgUpgrade')
    .set({ ...ofDownloads, ...ofReboots })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}
