import { sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { columnsOf, updateRows } from '../../platform/database/rows.ts'
import { isAwaitingDevices } from './store-awaited.ts'
import { searchesIn } from './store-searches.ts'
import type { IncludingSite } from './plan-inclusion.ts'
import { NO_PHASE, type UpgradePlan, terminalStates } from '../rollout.ts'
import { type Candidate, candidatesOf } from '../store-candidates.ts'
import type { TargetNow } from '../targets/target.ts'

export const deviceSearches = searchesIn('org_upgrade')

/**
 * True if the upgrade searches for further devices, at the site of this site upgrade (null: at any). One that has ended may await
 * devices of other upgrades.
 */
export async function isSearching(
  tx: Tx,
  scope: InOrg,
  { orgUpgradeId, only = null }: { readonly orgUpgradeId: string; readonly only?: string | null },
): Promise<boolean> {
  let query = tx
    .selectFrom('orgUpgrade')
    .innerJoin('siteUpgrade as part', (join) =>
      join.onRef('part.orgId', '=', 'orgUpgrade.orgId').onRef('part.orgUpgradeId', '=', 'orgUpgrade.id'),
    )
    .select('part.id')
    .where('orgUpgrade.orgId', '=', scope.orgId)
    .where('orgUpgrade.id', '=', orgUpgradeId)
    .where('orgUpgrade.includeDueMs', 'is not', null)
    .where('orgUpgrade.stopping', 'is', null)
    .where('part.stopping', 'is', null)
    .where('part.closed', '=', false)
    .limit(1)
  if (only !== null) query = query.where('part.id', '=', only)
  return (await query.executeTakeFirst()) !== undefined
}

/** A site upgrade that may take in devices of its site. */
export interface OpenSite {
  readonly id: string
  readonly siteId: string
  /** Null: at any time. */
  readonly windows: UpgradePlan['windows'] | null
  readonly ending: Pick<UpgradePlan, 'ends_s'>
}

/**
 * Lists the site upgrades of an upgrade that runs or awaits devices of other upgrades; none once it has ended at all sites and
 * awaits none. Stopped or cancelled ones accept no further devices.
 */
export async function listOpenSites(reader: Reader, scope: OrgScope, orgUpgradeId: string): Promise<OpenSite[]> {
  const rows = await reader
    .selectFrom('siteUpgrade')
    .innerJoin('orgUpgrade', (join) =>
      join.onRef('orgUpgrade.orgId', '=', 'siteUpgrade.orgId').onRef('orgUpgrade.id', '=', 'siteUpgrade.orgUpgradeId'),
    )
    .select(['siteUpgrade.id', 'siteId', 'siteUpgrade.stopping', 'finishedAt', 'closed'])
    .select(sql<OpenSite['windows']>`plan->'windows'`.as('windows'))
    .select(sql<OpenSite['ending']>`jsonb_strip_nulls(jsonb_build_object('ends_s', plan->'ends_s'))`.as('ending'))
    .where('siteUpgrade.orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    // A stop concerns sites without devices too, and the phases of a stopped upgrade open no more.
    .where('orgUpgrade.stopping', 'is', null)
    .execute()
  const runs = rows.some(({ finishedAt, stopping }) => finishedAt === null && stopping === null)
  const open = rows.filter(({ stopping, closed }) => stopping === null && !closed)
  return runs || (await isAwaitingDevices(reader, scope, orgUpgradeId)) ? open : []
}

/** One that a round skips has the phase in which it was skipped. */
export const isSkippedByPlan = sql`target.state = 'skipped' and target.phase = ${NO_PHASE}`

export interface LookOptions {
  readonly orgUpgradeId: string
  readonly siteIds: readonly string[]
  readonly after: string | null
  /** The number of devices that are read. */
  readonly limit: number
}

/** The devices that a search has found. */
interface FreeDevices {
  readonly devices: readonly { readonly id: string; readonly siteId: string | null }[]
  /** The last device that was read; null at the end of the pass. */
  readonly last: string | null
}

/**
 * Lists devices of the sites that no upgrade has and that this one never had, except as skipped by its plan, which have
 * another version by now. A device that never connected has no version. The site upgrade and the status of each target
 * are read by their keys: where statistics make them look few, PostgreSQL would read those of the organization for each device.
 */
export async function listFree(
  reader: Reader,
  scope: OrgScope,
  { orgUpgradeId, siteIds, after, limit }: LookOptions,
): Promise<FreeDevices> {
  let looked = reader
    .selectFrom('device')
    .select(['id', 'siteId'])
    .where('orgId', '=', scope.orgId)
    .where('siteId', '=', anyOf(siteIds))
  if (after !== null) looked = looked.where('id', '>', after)
  const devices = await looked.orderBy('id').limit(limit).execute()
  const ids = devices.map(({ id }) => id)
  const { rows } = await sql<{ id: string }>`
    select looked.id from unnest(${ids}::uuid[]) as looked (id)
    where not exists (
      select from device_upgrade active
      where active.org_id = ${scope.orgId} and active.device_id = looked.id and active.upgrade_id is not null)
    and not exists (
      select from (select * from upgrade_target where device_id = looked.id offset 0) target
      cross join lateral (
        select org_upgrade_id from site_upgrade where org_id = target.org_id and id = target.upgrade_id limit 1) part
      left join lateral (
        select device_id, firmware from device_status
        where org_id = target.org_id and device_id = target.device_id limit 1) status on true
      where target.org_id = ${scope.orgId} and part.org_upgrade_id = ${orgUpgradeId}
        and not (${isSkippedByPlan} and status.device_id is not null and status.firmware is distinct from target.target_version
          and not coalesce(target.reported ? status.firmware, false)))
  `.execute(reader)
  const free = new Set(rows.map(({ id }) => id))
  return { devices: devices.filter(({ id }) => free.has(id)), last: ids.length < limit ? null : (ids.at(-1) ?? null) }
}

/** Lists the devices that may join: see listFree(). */
export async function listJoining(
  reader: Reader,
  scope: OrgScope,
  look: LookOptions,
): Promise<Pick<FreeDevices, 'last'> & { readonly candidates: readonly Candidate[] }> {
  const { devices, last } = await listFree(reader, scope, look)
  const ids = devices.map(({ id }) => id)
  const candidates = ids.length === 0 ? [] : await candidatesOf(reader, scope, sql<boolean>`d.id = ${anyOf(ids)}`)
  return { candidates, last }
}

/** The version of a model in an upgrade. */
export interface ModelVersion {
  readonly model: string
  readonly targetVersion: string
  /** The strings that devices report when they run it, if they differ from it. */
  readonly reported: readonly string[]
  readonly imageId: string
}

/** Lists the versions for the devices of these models in the upgrade; models without a device in it are left out. */
export async function listModelVersions(
  reader: Reader,
  scope: OrgScope,
  { orgUpgradeId, models }: { readonly orgUpgradeId: string; readonly models: readonly string[] },
): Promise<ModelVersion[]> {
  const { rows } = await sql<ModelVersion>`
    select wanted.model, coalesce(last.hop->>'version', target.target_version) as target_version,
      coalesce(last.hop->'reported', target.reported, '[]') as reported,
      coalesce((last.hop->>'image_id')::uuid, target.image_id) as image_id
    from unnest(${models}::text[]) as wanted (model)
    cross join lateral (
      select target.target_version, target.reported, target.image_id, target.path from site_upgrade part
      join upgrade_target target on target.org_id = part.org_id and target.upgrade_id = part.id
      where part.org_id = ${scope.orgId} and part.org_upgrade_id = ${orgUpgradeId} and target.model = wanted.model
      limit 1) target
    cross join lateral (select target.path->-1 as hop) last
  `.execute(reader)
  return rows
}

/** Locks the site upgrades that were neither stopped nor cancelled. The caller has locked the organization upgrade. */
export function lockIncludingSites(tx: Tx, scope: OrgScope, ids: readonly string[]): Promise<IncludingSite[]> {
  return tx
    .selectFrom('siteUpgrade')
    .select(['id', 'status', 'stopping', 'stopReason', 'hold', 'plan', 'currentPhase', 'phaseOpenedMs', 'counts'])
    .select(['hardFailures', 'downloads', 'finishedAt', 'total'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .where('stopping', 'is', null)
    .where('closed', '=', false)
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** A target that has not ended, as its place in the order of restarts depends on it. */
export interface OpenTarget extends Pick<TargetNow, 'deviceId' | 'rank'> {
  readonly upgradeId: string
  readonly mac: string
  readonly type: DeviceType
}

/** Lists the targets of these site upgrades that have not ended, without devices that have left the organization. */
export function listOpenTargets(
  reader: Reader,
  scope: InOrg,
  siteUpgradeIds: readonly string[],
): Promise<readonly OpenTarget[]> {
  return reader
    .selectFrom('upgradeTarget as target')
    .innerJoin('device', (join) =>
      join.onRef('device.orgId', '=', 'target.orgId').onRef('device.id', '=', 'target.deviceId'),
    )
    .select(['target.upgradeId', 'target.deviceId', 'target.mac', 'target.rank', 'device.type'])
    .where('target.orgId', '=', scope.orgId)
    .where('target.upgradeId', '=', anyOf(siteUpgradeIds))
    .where('target.state', 'not in', terminalStates)
    .orderBy('target.mac')
    .execute()
}

const rankColumns = columnsOf('upgradeTarget', { orgId: 'uuid', upgradeId: 'uuid', deviceId: 'uuid', rank: 'integer' })

/** The caller has locked the site upgrades. */
export async function updateRanks(
  tx: Tx,
  scope: InOrg,
  ranks: readonly { readonly upgradeId: string; readonly deviceId: string; readonly rank: number }[],
): Promise<void> {
  const rows = ranks.map((row) => ({ ...row, orgId: scope.orgId }))
  await updateRows(tx, rankColumns, rows, { key: ['orgId', 'upgradeId', 'deviceId'] })
}
