import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SitesScope } from '../../access/scope.ts'
import { inSites } from '../../access/store-sites.ts'
import { cancelQueuedCommands } from '../../devices/commands/store-cancel.ts'
import { type DownloadKey, fenceDownloads } from '../../firmware/downloads/store-downloads.ts'
import { type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { terminalStates } from '../rollout.ts'

export interface Stop {
  readonly becomes: 'failed' | 'cancelled'
  readonly reason: string
  readonly at: Date
  /** The same instant in service time. */
  readonly nowMs: number
  /** The ids of the only site upgrades to stop; missing: all of them. */
  readonly only?: readonly string[]
}

export interface Stopped {
  /** The number of site upgrades that were running. */
  readonly siteUpgrades: number
  /** MACs of the devices that have the image, or are flashing it: they can't be stopped. In ascending order. */
  readonly inFlight: readonly string[]
}

/**
 * Stops the site upgrades of the organization upgrade, or some of them. After the commit no device is commanded and none gets
 * its image: queued commands are withdrawn, and incomplete downloads are cut off. The caller has locked the organization
 * upgrade.
 */
export async function stopSiteUpgrades(tx: Tx, scope: InOrg, orgUpgradeId: string, stop: Stop): Promise<Stopped> {
  const ids = await markStopping(tx, scope, orgUpgradeId, stop)
  const [inFlight = []] = await haltTargets(tx, scope, { groups: [ids], at: stop.at })
  return { siteUpgrades: ids.length, inFlight }
}

/**
 * The first part of stopSiteUpgrades(), for a transaction that stops site upgrades of several kinds: haltTargets() must follow
 * once, for all of them.
 * @returns The ids of the site upgrades that were running.
 */
export async function markStopping(tx: Tx, scope: InOrg, orgUpgradeId: string, stop: Stop): Promise<string[]> {
  const { becomes, reason, nowMs, only = null } = stop
  let update = tx
    .updateTable('siteUpgrade')
    .set({ stopping: becomes, stopReason: reason, hold: null, dueMs: nowMs })
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
    .where('finishedAt', 'is', null)
    .where('stopping', 'is', null)
  if (only !== null) update = update.where('id', '=', anyOf(only))
  const stopped = await update.returning('id').execute()
  if (becomes === 'cancelled') await closeSiteUpgrades(tx, scope, { orgUpgradeId, only })
  // An org upgrade goes on as long as one of its site upgrades runs or, after a cancellation at a site, may await devices there.
  await tx
    .updateTable('orgUpgrade')
    .set({ stopping: becomes, hold: null })
    .where('orgId', '=', scope.orgId)
    .where('id', '=', orgUpgradeId)
    .where('stopping', 'is', null)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('siteUpgrade')
            .select('siteUpgrade.id')
            .where('siteUpgrade.orgId', '=', scope.orgId)
            .where('siteUpgrade.orgUpgradeId', '=', orgUpgradeId)
            .where('siteUpgrade.stopping', 'is', null)
            .where(becomes === 'cancelled' ? runsOrSearches : sql<boolean>`site_upgrade.finished_at is null`),
        ),
      ),
    )
    .execute()
  return stopped.map(({ id }) => id)
}

const runsOrSearches = sql<boolean>`(site_upgrade.finished_at is null
  or (not site_upgrade.closed and org_upgrade.include_due_ms is not null))`

/** Returns which of the organization upgrades have a site upgrade that runs and was not stopped. */
export async function listRunning(
  reader: Reader,
  { orgId }: InOrg,
  orgUpgradeIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (orgUpgradeIds.length === 0) return new Set()
  const rows = await reader
    .selectFrom('siteUpgrade')
    .select('orgUpgradeId')
    .distinct()
    .where('orgId', '=', orgId)
    .where('orgUpgradeId', '=', anyOf(orgUpgradeIds))
    .where('finishedAt', 'is', null)
    .where('stopping', 'is', null)
    .execute()
  return new Set(rows.map((row) => row.orgUpgradeId))
}

/**
 * True if the engine has not yet released the devices of an upgrade that stops at these sites: its next round does, except those in
 * flight.
 */
export async function hasPendingStops(reader: Reader, scope: SitesScope, nowMs: number): Promise<boolean> {
  const row = await reader
    .selectFrom('siteUpgrade')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where(inSites(scope, sql.ref('siteId')))
    .where('finishedAt', 'is', null)
    .where('stopping', 'is not', null)
    .where('dueMs', '<=', nowMs)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Closes the site upgrades to further devices, including ended ones, which would continue when a device joins. */
async function closeSiteUpgrades(
  tx: Tx,
  scope: InOrg,
  { orgUpgradeId, only }: { readonly orgUpgradeId: string; readonly only: readonly string[] | null },
): Promise<void> {
  let update = tx
    .updateTable('siteUpgrade')
    .set({ closed: true })
    .where('orgId', '=', scope.orgId)
    .where('orgUpgradeId', '=', orgUpgradeId)
  if (only !== null) update = update.where('id', '=', anyOf(only))
  await update.execute()
}

export interface Halt {
  /** Ids of site upgrades, which the caller has locked. None is in two groups. */
  readonly groups: readonly (readonly string[])[]
  /** The only devices of them that are concerned; missing: all. */
  readonly deviceIds?: readonly string[]
  /** Further downloads to cut off. */
  readonly fences?: readonly DownloadKey[]
  readonly at: Date
}

/**
 * Part of a stop: withdraws the queued commands of these site upgrades and cuts off their downloads. A transaction calls it
 * once, because all its downloads are fenced by one statement: those that begin meanwhile are locked in the same order.
 * @returns The MACs of devices that can't be stopped, for each group; see Stopped.
 */
export async function haltTargets(
  tx: Tx,
  scope: InOrg,
  { groups, deviceIds, fences = [], at }: Halt,
): Promise<string[][]> {
  const ids = groups.flat()
  const isConcerned = ofTargets(scope, ids, deviceIds)
  const commanded = ids.length === 0 ? [] : await withdrawCommands(tx, scope, isConcerned, at)
  const stoppable = commanded.filter(({ kind, state }) => kind !== 'activate' && state !== 'done')
  const keys = new Map([...fences, ...stoppable].map((key) => [key.commandId, key]))
  const fenced = await fenceDownloads(tx, scope, [...keys.values()])
  const inFlight = groups.map((): string[] => [])
  if (ids.length === 0) return inFlight
  // A device that only downloads installs nothing by itself.
  const unstoppable = commanded.filter(({ kind, commandId }) => kind !== 'stage' && !fenced.has(commandId))
  const rest = await tx
    .selectFrom('upgradeTarget as target')
    .select(['upgradeId', 'mac'])
    .where(isConcerned)
    .where((where) =>
      where.or([
        where('state', 'in', ['rebooting', 'verifying', 'rolling_back']),
        where('commandId', '=', anyOf(unstoppable.map(({ commandId }) => commandId))),
      ]),
    )
    .orderBy('mac')
    .execute()
  const groupOf = new Map(groups.flatMap((group, index) => group.map((id) => [id, inFlight[index]])))
  for (const { upgradeId, mac } of rest) groupOf.get(upgradeId)?.push(mac)
  return inFlight
}

function ofTargets(
  { orgId }: InOrg,
  siteUpgradeIds: readonly string[],
  deviceIds: readonly string[] | undefined,
): RawBuilder<boolean> {
  const all = sql<boolean>`target.org_id = ${orgId} and target.upgrade_id = ${anyOf(siteUpgradeIds)}`
  return deviceIds === undefined ? all : sql<boolean>`${all} and target.device_id = ${anyOf(deviceIds)}`
}

/**
 * Withdraws the queued commands of these targets.
 * @returns The commands that have been sent, of targets that have not ended.
 */
async function withdrawCommands(tx: Tx, scope: InOrg, isConcerned: RawBuilder<boolean>, at: Date) {
  await cancelQueuedCommands(tx, scope, await listLatestCommands(tx, isConcerned), at)
  return tx
    .selectFrom('upgradeTarget as target')
    .innerJoin('deviceCommand as command', (join) =>
      join.onRef('command.orgId', '=', 'target.orgId').onRef('command.id', '=', 'target.commandId'),
    )
    .select(['command.id as commandId', 'command.kind', 'command.state', 'target.imageId'])
    .where(isConcerned)
    .where('target.state', 'in', ['dl_requested', 'downloading', 'reboot_requested'])
    .where('command.state', 'in', ['sent', 'unknown', 'done'])
    .execute()
}

/** Lists the latest commands of the targets that have not ended: no other command can be queued. */
async function listLatestCommands(tx: Tx, isConcerned: RawBuilder<boolean>): Promise<string[]> {
  const rows = await tx
    .selectFrom('upgradeTarget as target')
    .select('commandId')
    .where(isConcerned)
    .where('commandId', 'is not', null)
    .where('state', 'not in', terminalStates)
    .execute()
  return rows.flatMap(({ commandId }) => commandId ?? [])
}
