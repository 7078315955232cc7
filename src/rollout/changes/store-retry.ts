import { sql } from 'kysely'
import type { InOrg, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import { type Tx, anyOf, json } from '../../platform/database/db.ts'
import { columnsOf, rowsAs, updateRows } from '../../platform/database/rows.ts'
import type { FailedTarget, OrgRetry, RetriedSite, SiteRetry } from './plan-retry.ts'
import type { TargetState, UpgradeHop } from '../rollout.ts'
import { appendedTo } from '../rounds/store.ts'
import { versionRun } from '../targets/store-versions.ts'
import { encodeStep } from '../targets/timeline.ts'

/** Locks all site upgrades of the organization upgrade, which the caller has locked. */
export function lockRetriedSites(tx: Tx, scope: InOrg, orgUpgradeId: string): Promise<RetriedSite[]> {
  return tx
    .selectFrom('siteUpgrade')
    .select(['id', 'status', 'stopping', 'stopReason', 'hold', 'plan', 'currentPhase', 'phaseOpenedMs', 'counts'])
    .select(['hardFailures', 'finishedAt', 'downloads'])
    .select(
      sql<boolean>`id::text in (
        select event->>'site_upgrade_id' from upgrade_event
        where org_id = ${scope.orgId} and org_upgrade_id = ${orgUpgradeId} and event->>'type' = 'UPGRADE_SITE_STARTED')`.as(
        'hasStarted',
      ),
    )
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** A target that a retry names or selects. */
export interface RetriableTarget extends FailedTarget {
  readonly deviceId: string
  readonly mac: string
  readonly state: TargetState
  readonly imageId: string
  readonly path: readonly UpgradeHop[] | null
  readonly targetVersion: string
  /** True if its device is still in the organization and, for a scope of sites, at one of them. */
  readonly exists: boolean
}

/**
 * Lists the failed targets of the site upgrades; with `macs` the targets of these devices, whatever their state. The
 * caller has locked the site upgrades.
 */
export async function listRetriable(
  tx: Tx,
  scope: SitesScope,
  { siteUpgradeIds, macs }: { readonly siteUpgradeIds: readonly string[]; readonly macs: readonly string[] | null },
): Promise<RetriableTarget[]> {
  const which = macs === null ? sql`target.state = 'failed'` : sql`target.mac = ${anyOf(macs)}`
  const { rows } = await sql<RetriableTarget>`
    select target.upgrade_id, target.device_id, target.mac, target.phase,
      target.download_phase, target.staged or target.fetched as had_image, target.state, target.reason, target.image_id, target.path,
      target.target_version, exists (
        select from device where device.org_id = target.org_id and device.id = target.device_id
          and ${inSites(scope, sql.ref('device.site_id'))}) as exists
    from upgrade_target target
    where target.org_id = ${scope.orgId} and target.upgrade_id = ${anyOf(siteUpgradeIds)} and ${which}
    order by target.upgrade_id, target.ordinal, target.mac
  `.execute(tx)
  return rows
}

const keyColumns = columnsOf('upgradeTarget', { orgId: 'uuid', upgradeId: 'uuid', deviceId: 'uuid' })

/** The time and the person of a retry. */
export interface Retrying {
  readonly by: string
  readonly now: Date
  /** The same instant in service time. */
  readonly nowMs: number
}

/**
 * Records the failures of the targets, and begins another run of each. An image that reached the device before counts no
 * more: a forced installation has to fetch it again.
 */
export async function insertTargetRuns(
  tx: Tx,
  scope: InOrg,
  targets: readonly Pick<RetriableTarget, 'upgradeId' | 'deviceId'>[],
  { by, now, nowMs }: Retrying,
): Promise<void> {
  const line = encodeStep({ state: 'planned', at: now, reason: `retried by ${by}` })
  const keys = targets.map((target) => ({ ...target, orgId: scope.orgId }))
  const retried = sql`${rowsAs('retried', keyColumns, keys)}`
  const isRetried = sql`target.org_id = retried.org_id and target.upgrade_id = retried.upgrade_id
    and target.device_id = retried.device_id`
  await sql`
    insert into upgrade_target_run
      (org_id, upgrade_id, device_id, run, reason, from_version, attempt, ended_at, retried_at, retried_by, down_at, up_at,
        up_again_at, down_again_at)
    select target.org_id, target.upgrade_id, target.device_id, target.run, target.reason, target.from_version,
      target.attempt, target.entered_at, ${now}::timestamptz, ${by}::text, target.down_at, target.up_at,
      target.up_again_at, target.down_again_at
    from ${retried}
    join upgrade_target target on ${isRetried}
  `.execute(tx)
  const running = versionRun('target', 'status.firmware')
  // A device that runs the version by now has recovered, and its former version remains recorded, unless it must
  // install the version again.
  await sql`
    update upgrade_target target set
      run = target.run + 1, state = 'planned', reason = null, failed_attempts = 0, lost_attempts = 0,
      retry_at_ms = null, fetched = false, staged = false, command_id = null, boot_count = null, down_at = null, up_at = null,
      up_again_at = null, down_again_at = null,
      timeline = ${appendedTo(sql`target.timeline`, sql`${line}::text`)},
      entered_at = ${now}::timestamptz, entered_ms = ${nowMs}::float8,
      from_version = case when target.force or ${running} <> target.target_version
        then coalesce(${running}, target.from_version) else target.from_version end
    from ${retried}
    left join device_status status on status.org_id = retried.org_id and status.device_id = retried.device_id
    where ${isRetried}
  `.execute(tx)
}

const siteColumns = columnsOf('siteUpgrade', {
  orgId: 'uuid',
  id: 'uuid',
  status: 'text',
  hold: 'jsonb',
  currentPhase: 'integer',
  phaseOpenedMs: 'float8',
  counts: 'jsonb',
  hardFailures: 'jsonb',
  downloads: 'jsonb',
})

/** Makes the site upgrades continue immediately. */
export async function reopenSiteUpgrades(
  tx: Tx,
  scope: InOrg,
  retries: readonly SiteRetry[],
  nowMs: number,
): Promise<void> {
  const rows = retries.map((retry) => ({ ...retry, orgId: scope.orgId }))
  await updateRows(tx, siteColumns, rows, {
    key: ['orgId', 'id'],
    set: sql`stopping = null, finished_at = null, due_ms = ${nowMs}`,
  })
}

export async function reopenOrgUpgrade(
  tx: Tx,
  scope: InOrg,
  {
    id,
    change: { hardFailures, hold, phases, downloads },
    nowMs,
  }: { readonly id: string; readonly change: OrgRetry; readonly nowMs: number },
): Promise<void> {
  await tx
    .updateTable('orgUpgrade')
    .set({
      hardFailures,
      hold: hold && json(hold),
      stopping: null,
      // When it ended, it stopped searching for devices that join.
      includeDueMs: sql`case when joining is not null then coalesce(include_due_ms, ${nowMs}::float8) end`,
      ...(phases !== null && {
        currentPhase: phases.current,
        gatePassed: phases.gatePassed,
        pendingByPhase: json(phases.pending),
        failuresByPhase: json(phases.failures),
      }),
      ...(downloads !== null && { downloads: sql`downloads || ${JSON.stringify(documentOf(downloads))}::jsonb` }),
    })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', id)
    .execute()
}

function documentOf({ gatePassed, ...phases }: NonNullable<OrgRetry['downloads']>) {
  return { ...phases, gate_passed: gatePassed }
}
