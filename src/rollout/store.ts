import { type RawBuilder, sql } from 'kysely'
import type { InOrg, OrgScope } from '../access/scope.ts'
import { type Db, type Tx, anyOf } from '../platform/database/db.ts'
import { columnsOf, rowsAs } from '../platform/database/rows.ts'
import type { SiteUpgradeNow } from './site-upgrade-now.ts'
import type { OrgUpgradeNow } from './rounds/decide-org-upgrade.ts'
import type { DevicesInUse, OrgLimits } from './phases/decide-capacity.ts'
import { type Portion, type UnfinishedRead, isContinued, isDivisible } from './rounds/decide-portion.ts'
import {
  type PhaseApproval,
  START_PHASE,
  type StartGate,
  type TargetCounts,
  type TargetState,
  type UpgradeHold,
  inFlightStates,
  isInFlight,
} from './rollout.ts'
import { orgDownloadsOf } from './phases/store-downloads.ts'
import { listHealth } from './targets/health/store.ts'
import { listUnfit } from './targets/store-unfit.ts'
import { listApproved } from './gates/approvals.ts'
import { orgPhasesOf } from './phases/store.ts'
import { type StartNow, countApproved } from './gates/decide-wait.ts'
import { type TargetKey, type TargetLimits, findPortionEnds, listTargets } from './targets/store.ts'
import type { LockedTarget } from './targets/target-row.ts'

/** The right to advance a site upgrade: void once another worker has claimed it with a higher epoch. */
export interface SiteUpgradeClaim {
  readonly orgId: string
  readonly id: string
  readonly orgUpgradeId: string
  readonly epoch: string
  /** If it is due, the round reads all its targets; otherwise only those that have changed. */
  readonly isDue: boolean
  readonly counts: TargetCounts
}

export interface ClaimOptions {
  /** Service time here and below. */
  readonly nowMs: number
  /** Also claims site upgrades that become due before this time and are not in `seen`, as if they were due. */
  readonly dueBeforeMs: number
  /** True claims no site upgrade because it is due. */
  readonly onlyChanged?: boolean
  /** Ids of site upgrades with changed targets; those with an open phase that are not in `seen` are claimed. */
  readonly changed: readonly string[]
  /** Ids of site upgrades that this run has claimed already; they are claimed again only once they are due. */
  readonly seen: readonly string[]
  readonly leaseUntilMs: number
  readonly limit: number
}

/** Claims site upgrades that are due, all of the organization that has waited longest. */
export async function claimSiteUpgrades(
  db: Db,
  { nowMs, dueBeforeMs, onlyChanged = false, changed, seen, leaseUntilMs, limit }: ClaimOptions,
): Promise<SiteUpgradeClaim[]> {
  const isDue = onlyChanged ? sql`false` : sql`due_ms <= ${nowMs}`
  const isSoonDue = onlyChanged ? sql`false` : sql`due_ms < ${dueBeforeMs}`
  // Subqueries are hashed, where arrays would be searched for each row.
  const ready = sql`finished_at is null and (lease_until_ms is null or lease_until_ms <= ${nowMs})
    and (${isDue}
      or (${isSoonDue} or phase_opened_ms is not null and id in (select unnest(${changed}::uuid[])))
        and id not in (select unnest(${seen}::uuid[])))`
  const claimed = await sql<SiteUpgradeClaim>`
    with due as (
      select org_id, id, ${isDue} or ${isSoonDue} as is_due from site_upgrade
      where ${ready} and org_id = (select org_id from site_upgrade where ${ready} order by due_ms limit 1)
      order by due_ms limit ${limit}
      for update skip locked
    )
    update site_upgrade set lease_until_ms = ${leaseUntilMs}, epoch = site_upgrade.epoch + 1
    from due where site_upgrade.org_id = due.org_id and site_upgrade.id = due.id
    returning site_upgrade.org_id, site_upgrade.id, site_upgrade.org_upgrade_id, site_upgrade.epoch,
      coalesce(due.is_due, false) as is_due, site_upgrade.counts
  `.execute(db)
  return claimed.rows
}

const limits = sql<OrgLimits>`jsonb_build_object(
  'maxInFlight', request->'max_in_flight', 'maxDownloads', request->'max_downloads',
  'maxDownloadsPerSite', request->'max_downloads_per_site', 'failureBudget', request->'failure_budget')`

/** The gate before the start of an upgrade, of its request; null: there is none. Clients may send defaults, which a gate omits. */
export const startGate = sql<StartGate | null>`(
  select jsonb_strip_nulls(jsonb_build_object(
    'prevent_self_approval', nullif(gate->'prevent_self_approval', 'false'), 'approvals', nullif(gate->'approvals', '1')))
  from jsonb_path_query_first(request, '$.phase_gates[*] ? (@.phase == 0)') gate where gate is not null)`

/** Why an upgrade is paused, and what people and checks have approved of it. */
export interface LockedApprovals {
  readonly hold: UpgradeHold | null
  readonly approvals: readonly PhaseApproval[]
}

function startOf(gate: StartGate | null, approvals: readonly PhaseApproval[]): StartNow | null {
  return gate && { gate, given: countApproved(listApproved(approvals, undefined), START_PHASE) }
}

function sumOf(states: readonly TargetState[]): RawBuilder<number> {
  return sql.join(
    states.map((state) => sql`coalesce((part.counts->>${sql.lit(state)})::integer, 0)`),
    sql` + `,
  )
}

/** Every caller locks organization upgrades before their site upgrades, to prevent deadlocks. */
export async function lockOrgUpgrades(
  tx: Tx,
  scope: InOrg,
  ids: readonly string[],
): Promise<(OrgUpgradeNow & LockedApprovals)[]> {
  const rows = await tx
    .selectFrom('orgUpgrade')
    .select(['id', 'maxFailurePercentage', 'planned', 'hardFailures'])
    .select(['phasePlan', 'currentPhase', 'gatePassed', 'pendingByPhase', 'failuresByPhase', 'upgradedByPhase'])
    .select(['hold', 'stopping', 'approvals', 'downloadPlan', 'downloads'])
    .select([limits.as('limits'), startGate.as('startGate')])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forUpdate()
    .execute()
  const limited = rows.filter(
    ({ limits: { maxInFlight, maxDownloads } }) => maxInFlight !== null || maxDownloads !== null,
  )
  const inUse = await countDevicesInUse(
    tx,
    scope,
    limited.map(({ id }) => id),
  )
  return rows.map((row) => {
    const phases = { phases: orgPhasesOf(row), downloads: orgDownloadsOf(row) }
    const start = startOf(row.startGate, row.approvals)
    return Object.assign(row, { ...phases, start, inUse: inUse.get(row.id) ?? nothingInUse })
  })
}

const nothingInUse: DevicesInUse = { inFlight: 0, downloads: 0 }

/**
 * Counts the devices in use at all sites, by organization upgrade. It is a separate statement, because one that waits
 * for the lock of an organization upgrade reads the site upgrades in their state before the wait.
 */
async function countDevicesInUse(
  tx: Tx,
  scope: InOrg,
  orgUpgradeIds: readonly string[],
): Promise<ReadonlyMap<string, DevicesInUse>> {
  if (orgUpgradeIds.length === 0) return new Map()
  const { rows } = await sql<DevicesInUse & { readonly id: string }>`
    select part.org_upgrade_id as id, sum(${sumOf(inFlightStates)})::integer as in_flight,
      sum(${sumOf(['dl_requested', 'downloading'])})::integer as downloads
    from site_upgrade part
    where part.org_id = ${scope.orgId} and part.org_upgrade_id = ${anyOf(orgUpgradeIds)} and part.finished_at is null
    group by part.org_upgrade_id
  `.execute(tx)
  return new Map(rows.map(({ id, inFlight, downloads }) => [id, { inFlight, downloads }]))
}

/** A site upgrade that this worker may advance. */
export interface LockedSiteUpgrade extends SiteUpgradeNow {
  /** Some version of the organization has a lowest one from which it can be installed. */
  readonly hasLowest: boolean
  readonly id: string
  readonly orgUpgradeId: string
  readonly siteId: string
  readonly siteName: string | null
  /** When its round was due before this one. */
  readonly dueMs: number | null
  /** The maintenance window that devices waited for before this round. */
  readonly waitsUntil: Date | null
  readonly targets: readonly LockedTarget[]
  /** The targets are only a portion of those that the round would have read; null: they are all of them. */
  readonly portion: Portion | null
}

export interface HeldClaims extends TargetLimits {
  readonly claims: readonly SiteUpgradeClaim[]
  /** The targets that are read for claims that are not due. */
  readonly changes: readonly TargetKey[]
  /** The upgrades of the claims. */
  readonly orgUpgrades: readonly Pick<OrgUpgradeNow, 'id' | 'limits'>[]
  readonly targetsPerRound: number
  /** By the ids of site upgrades: earlier rounds have read portions of their targets. */
  readonly unfinished: ReadonlyMap<string, UnfinishedRead>
}

const claimColumns = columnsOf('siteUpgrade', { orgId: 'uuid', id: 'uuid', epoch: 'bigint' })

/** Locks the claimed site upgrades, as far as the claims are still valid, and reads the input of decideNext(). */
export async function lockSiteUpgrades(
  tx: Tx,
  scope: OrgScope,
  { claims, changes, orgUpgrades, targetsPerRound, unfinished, ...limits }: HeldClaims,
): Promise<LockedSiteUpgrade[]> {
  const all = await lockClaimed(tx, scope, claims)
  const portions = await findPortions(tx, scope, all, { orgUpgrades, targetsPerRound, unfinished })
  const asked = all.map((row) => {
    const portion = portions.get(row.id) ?? null
    const range = portion === null ? undefined : { after: portion.before?.after ?? null, until: portion.until }
    return Object.assign(row, { portion, range })
  })
  const listed = await listTargets(tx, scope, asked, { changes, ...limits })
  const keepsHigher = new Map(asked.map(({ id, plan }) => [id, plan.keeps_higher ?? []]))
  // Most organizations need no look-up.
  const mayBeUnfit = asked.some(needsFitness)
  // Only devices that can be commanded are examined.
  const connected = mayBeUnfit ? listed.filter(({ device }) => device?.link === 'connected') : []
  const unfit = await listUnfit(tx, scope, connected, keepsHigher)
  for (const target of listed)
    if (unfit.has(target.deviceId)) Object.assign(target, { unfit: unfit.get(target.deviceId) })
  const compared = new Set(asked.flatMap(({ id, plan }) => (plan.health === true ? [id] : [])))
  const inFlight = listed.filter(({ upgradeId, state }) => compared.has(upgradeId) && isInFlight(state))
  const health = await listHealth(tx, scope, inFlight)
  for (const target of inFlight) Object.assign(target, { health: health.get(target.deviceId) })
  const targets = Map.groupBy(listed, ({ upgradeId }) => upgradeId)
  return asked.map((siteUpgrade) => Object.assign(siteUpgrade, { targets: targets.get(siteUpgrade.id) ?? [] }))
}

/** True if some devices must not install the images, depending on their versions: see listUnfit(). */
export function needsFitness({ hasLowest, plan }: Pick<LockedSiteUpgrade, 'hasLowest' | 'plan'>): boolean {
  return hasLowest || plan.keeps_higher !== undefined
}

/** Locks the site upgrades of the claims that are still valid, and reads them without their targets. */
async function lockClaimed(tx: Tx, scope: OrgScope, claims: readonly SiteUpgradeClaim[]) {
  const given = claims.map(({ id, epoch }) => ({ orgId: scope.orgId, id, epoch }))
  const claimed = sql<
    Pick<SiteUpgradeClaim, 'orgId' | 'id' | 'epoch'>
  >`(select * from ${rowsAs('given', claimColumns, given)})`
  const rows = await tx
    .selectFrom('siteUpgrade')
    .select([
      'siteUpgrade.id',
      'siteUpgrade.orgUpgradeId',
      'siteUpgrade.siteId',
      'siteUpgrade.status',
      'siteUpgrade.stopping',
      'siteUpgrade.stopReason',
      'siteUpgrade.hold',
      'siteUpgrade.gatePassed',
      'siteUpgrade.startAt',
      'siteUpgrade.rebootAt',
      'siteUpgrade.plan',
      'siteUpgrade.currentPhase',
      'siteUpgrade.phaseOpenedMs',
      'siteUpgrade.dueMs',
      'siteUpgrade.waitsUntil',
      'siteUpgrade.graceUntilMs',
      'siteUpgrade.counts',
      'siteUpgrade.released',
      'siteUpgrade.hardFailures',
      'siteUpgrade.upgradedByPhase',
      'siteUpgrade.downloads',
    ])
    .select(
      sql<
        string | null
      >`(select name from site where site.org_id = site_upgrade.org_id and site.id = site_upgrade.site_id)`.as(
        'siteName',
      ),
    )
    .select(
      sql<boolean>`exists (select from firmware_version where org_id = ${scope.orgId} and min_version is not null)`.as(
        'hasLowest',
      ),
    )
    .innerJoin(claimed.as('claim'), (on) =>
      on
        .onRef('siteUpgrade.orgId', '=', 'claim.orgId')
        .onRef('siteUpgrade.id', '=', 'claim.id')
        .onRef('siteUpgrade.epoch', '=', 'claim.epoch'),
    )
    .orderBy('siteUpgrade.id')
    .forUpdate('siteUpgrade')
    .execute()
  const due = new Set(claims.filter(({ isDue }) => isDue).map(({ id }) => id))
  return rows.map((row) => Object.assign(row, { isDue: due.has(row.id) }))
}

/** Returns the portions of the site upgrades that are too large for one round, by their ids. */
async function findPortions(
  tx: Tx,
  scope: OrgScope,
  siteUpgrades: readonly (Omit<SiteUpgradeNow, 'targets'> & Pick<LockedSiteUpgrade, 'id' | 'orgUpgradeId' | 'dueMs'>)[],
  { orgUpgrades, targetsPerRound, unfinished }: Pick<HeldClaims, 'orgUpgrades' | 'targetsPerRound' | 'unfinished'>,
): Promise<ReadonlyMap<string, Portion>> {
  const limitsOf = new Map(orgUpgrades.map(({ id, limits: of }) => [id, of]))
  const large = siteUpgrades.flatMap((siteUpgrade) => {
    const of = limitsOf.get(siteUpgrade.orgUpgradeId)
    if (!siteUpgrade.isDue || of === undefined || !isDivisible(siteUpgrade, of, targetsPerRound)) return []
    const read = unfinished.get(siteUpgrade.id)
    const before = read !== undefined && isContinued(read, siteUpgrade) ? read : null
    return [{ ...siteUpgrade, before, after: before?.after ?? null }]
  })
  const ends = await findPortionEnds(tx, scope, large, targetsPerRound)
  return new Map(
    large.flatMap(({ id, before }) => {
      const until = ends.get(id) ?? null
      return before === null && until === null ? [] : [[id, { before, until }]]
    }),
  )
}

/**
 * Makes all site upgrades due that wait for an instant of the wall clock, or for an earlier process: after a start, and
 * after a change of the clock, their due times in service time are wrong.
 */
export async function expediteSiteUpgrades(db: Db, nowMs: number, which: 'all' | 'queued'): Promise<void> {
  const status = which === 'queued' ? sql`and (status = 'queued' or waits_until is not null)` : sql``
  const lease = which === 'all' ? sql`, lease_until_ms = null` : sql``
  // A transaction that has locked a row sets its due time.
  await sql`
    with early as (
      select org_id, id from site_upgrade where finished_at is null and due_ms is not null ${status}
      order by org_id, id for update skip locked
    )
    update site_upgrade set due_ms = ${nowMs} ${lease}
    from early where site_upgrade.org_id = early.org_id and site_upgrade.id = early.id
  `.execute(db)
}
