import { counted } from '../../platform/counted.ts'
import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Reader, type Tx, anyOf, json, noneOf } from '../../platform/database/db.ts'
import { columnsOf, rowsAs, updateRows } from '../../platform/database/rows.ts'
import { NO_PHASE } from '../rollout.ts'
import {
  type LosingSite,
  type SiteTakeover,
  type TakenTarget,
  type VersionChange,
  planTakeover,
  shrinkDownloads,
  shrinkPending,
  shrinkPlan,
  takeoverReason,
} from './plan-takeover.ts'
import { appendedTo } from '../rounds/store.ts'
import { haltTargets, markStopping } from '../stops/store.ts'
import { encodeStep } from '../targets/timeline.ts'

/** Lists the targets of running upgrades that have these devices and have not begun with them. */
export async function listTakeable(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<readonly TakenTarget[]> {
  const { rows } = await sql<TakenTarget>`
    select active.device_id, target.mac, active.upgrade_id, active.org_upgrade_id, target.phase, target.download_phase,
      target.staged, target.state
    from device_upgrade active
    join upgrade_target target on target.org_id = active.org_id and target.upgrade_id = active.upgrade_id
      and target.device_id = active.device_id
    where active.org_id = ${scope.orgId} and active.device_id = ${anyOf(deviceIds)}
      and target.state in ('planned', 'deferred') and target.command_id is null
    order by active.device_id
  `.execute(reader)
  return rows
}

/**
 * Returns what the upgrade that has each of these devices does to its version: a device that is being restored loses the one that the
 * upgrade has given it, and it is not known which one it returns to. Devices that no upgrade has, or for which it only downloads, keep
 * theirs and are left out.
 */
export async function listVersionChanges(
  reader: Reader,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<ReadonlyMap<string, VersionChange>> {
  const { rows } = await sql<VersionChange & { readonly deviceId: string }>`
    with active as materialized (
      select device_id, upgrade_id from device_upgrade
      where org_id = ${scope.orgId} and device_id = ${anyOf(deviceIds)} and upgrade_id is not null)
    select active.device_id, case when last.is_restored then 'loses' else 'gets' end as kind,
      case when last.is_restored then last.target_version else coalesce(last.path->-1->>'version', last.target_version) end as version
    from active
    cross join lateral (
      select target.state = 'rolling_back' as is_restored, target.target_version, target.path
      from upgrade_target target
      join site_upgrade part on part.org_id = target.org_id and part.id = target.upgrade_id
      where target.org_id = ${scope.orgId} and target.upgrade_id = active.upgrade_id and target.device_id = active.device_id
        and part.plan->>'only' is distinct from 'stage'
      limit 1) last
  `.execute(reader)
  return new Map(rows.map(({ deviceId, kind, version }) => [deviceId, { kind, version }]))
}

/**
 * Locks the upgrades that have these devices, in the common lock order: organization upgrades by id, then their site
 * upgrades by id.
 * @returns The targets that may be taken over; until `tx` ends none of them begins.
 */
export async function lockTakeable(
  tx: Tx,
  scope: InOrg,
  deviceIds: readonly string[],
): Promise<readonly TakenTarget[]> {
  const found = await listTakeable(tx, scope, deviceIds)
  const orgUpgradeIds = new Set(found.map(({ orgUpgradeId }) => orgUpgradeId))
  await tx
    .selectFrom('orgUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf([...orgUpgradeIds]))
    .orderBy('id')
    .forUpdate()
    .execute()
  await tx
    .selectFrom('siteUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf([...new Set(found.map(({ upgradeId }) => upgradeId))]))
    .orderBy('id')
    .forUpdate()
    .execute()
  // Targets that have begun since, or have moved to an upgrade that is not locked, stay there.
  const locked = new Set(found.map(({ upgradeId }) => upgradeId))
  return (await listTakeable(tx, scope, deviceIds)).filter(({ upgradeId }) => locked.has(upgradeId))
}

export interface Takeover {
  /** The id of the upgrade that takes the devices over. */
  readonly by: string
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
})

/**
 * Removes devices from their upgrades, which end if no device remains. The caller has locked the targets by
 * lockTakeable(), and assigns the devices to the other upgrade in the same transaction.
 */
export async function updateTakenOver(
  tx: Tx,
  scope: InOrg,
  taken: readonly TakenTarget[],
  { by, now, nowMs }: Takeover,
): Promise<void> {
  const reason = takeoverReason(by)
  const line = encodeStep({ state: 'cancelled', at: now, reason })
  const keys = taken.map((target) => ({ ...target, orgId: scope.orgId }))
  await sql`
    update upgrade_target target set state = 'cancelled', reason = ${reason}, phase = ${NO_PHASE}, download_phase = null,
      entered_at = ${now}::timestamptz, entered_ms = ${nowMs}::float8,
      timeline = ${appendedTo(sql`target.timeline`, sql`${line}::text`)}
    from ${rowsAs('taken', keyColumns, keys)}
    where target.org_id = taken.org_id and target.upgrade_id = taken.upgrade_id and target.device_id = taken.device_id
  `.execute(tx)
  const changes = planTakeover(await listLosing(tx, scope, taken), taken)
  await updateSites(tx, scope, changes, { by, nowMs })
  const stopped: string[] = []
  for (const [orgUpgradeId, some] of Map.groupBy(taken, (target) => target.orgUpgradeId)) {
    await updateOrg(tx, scope, orgUpgradeId, some)
    const mine = changes.filter((change) => change.orgUpgradeId === orgUpgradeId)
    const only = mine.filter(({ ends }) => ends === 'cancelled').map(({ id }) => id)
    if (only.length > 0)
      stopped.push(
        ...(await markStopping(tx, scope, orgUpgradeId, { becomes: 'cancelled', reason, at: now, nowMs, only })),
      )
    const done = mine.filter(({ ends }) => ends === 'by_results').map(({ id }) => id)
    if (done.length > 0) await endSites(tx, scope, orgUpgradeId, { ids: done, nowMs })
  }
  await haltTargets(tx, scope, { groups: [stopped], at: now })
}

/**
 * Makes the engine end site upgrades without remaining devices. It ends their pauses, and that of the whole upgrade if
 * no other site upgrade is unfinished.
 */
async function endSites(
  tx: Tx,
  scope: InOrg,
  orgUpgradeId: string,
  { ids, nowMs }: { readonly ids: readonly string[]; readonly nowMs: number },
): Promise<void> {
  await tx
    .updateTable('siteUpgrade')
    .set({ hold: null, dueMs: nowMs })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .execute()
  await sql`
    update org_upgrade set hold = null
    where org_id = ${scope.orgId} and id = ${orgUpgradeId} and hold is not null and not exists (
      select from site_upgrade part
      where part.org_id = org_upgrade.org_id and part.org_upgrade_id = org_upgrade.id and part.finished_at is null
        and part.id <> ${noneOf(ids)})
  `.execute(tx)
}

function listLosing(tx: Tx, scope: InOrg, taken: readonly TakenTarget[]): Promise<LosingSite[]> {
  return tx
    .selectFrom('siteUpgrade')
    .select(['id', 'orgUpgradeId', 'counts', 'released', 'stopping', 'plan'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf([...new Set(taken.map(({ upgradeId }) => upgradeId))]))
    .execute()
}

async function updateSites(
  tx: Tx,
  scope: InOrg,
  changes: readonly SiteTakeover[],
  { by, nowMs }: Pick<Takeover, 'by' | 'nowMs'>,
): Promise<void> {
  const rows = changes.map((change) => ({ ...change, orgId: scope.orgId }))
  // While it is paused, nothing is due.
  await updateRows(tx, siteColumns, rows, {
    key: ['orgId', 'id'],
    set: sql`due_ms = case when site_upgrade.hold is null then ${nowMs}::float8 else site_upgrade.due_ms end`,
  })
  const notes = changes.map(({ id, taken }) => ({
    ...{ orgId: scope.orgId, id },
    notes: [{ reason: `${counted(taken, 'device was', 'devices were')} taken over by upgrade ${by}` }],
  }))
  await sql`
    update site_upgrade set notes = site_upgrade.notes || noted.notes
    from ${rowsAs('noted', noteColumns, notes)}
    where site_upgrade.org_id = noted.org_id and site_upgrade.id = noted.id
  `.execute(tx)
}

const noteColumns = columnsOf('siteUpgrade', { orgId: 'uuid', id: 'uuid', notes: 'jsonb' })

async function updateOrg(tx: Tx, scope: InOrg, id: string, taken: readonly TakenTarget[]): Promise<void> {
  const row = await tx
    .selectFrom('orgUpgrade')
    .select(['phasePlan', 'pendingByPhase', 'downloadPlan', 'downloads'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const { phasePlan, downloadPlan, downloads } = row
  if (downloadPlan !== null && downloads !== null)
    await tx
      .updateTable('orgUpgrade')
      .set({
        downloadPlan: json(shrinkDownloads(downloadPlan, taken)),
        downloads: json({ ...downloads, pending: shrinkPending(downloads.pending, taken) }),
      })
      .where('orgId', '=', scope.orgId)
      .where('id', '=', id)
      .execute()
  if (phasePlan === null) return
  const pending: Record<string, number> = { ...row.pendingByPhase }
  // Gates wait for no deferred device.
  for (const { phase, state } of taken) if (state === 'planned') pending[phase] = (pending[phase] ?? 0) - 1
  await tx
    .updateTable('orgUpgrade')
    .set({ phasePlan: json(shrinkPlan(phasePlan, taken)), pendingByPhase: json(pending) })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}
