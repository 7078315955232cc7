import { sql } from 'kysely'
import type { OrgScope, SiteScope } from '../../access/scope.ts'
import type { EventMxedge } from '../../events/append-mxedge.ts'
import { type Tx, anyOf, isForeignKeyViolation } from '../../platform/db.ts'
import { AppError } from '../../platform/errors.ts'

/** What a deletion must wait for. */
export interface InTheWay {
  readonly devices: number
  readonly upgrades: number
}

/** Devices of the organization, or of the site alone, and upgrades that have not ended. */
export async function countInTheWay(tx: Tx, scope: OrgScope | SiteScope): Promise<InTheWay> {
  let devices = tx.selectFrom('device').where('orgId', '=', scope.orgId)
  let upgrades = tx.selectFrom('siteUpgrade').where('orgId', '=', scope.orgId).where('finishedAt', 'is', null)
  if ('siteId' in scope) {
    devices = devices.where('siteId', '=', scope.siteId)
    upgrades = upgrades.where('siteId', '=', scope.siteId)
  }
  const count = sql<string>`count(*)`.as('count')
  const ofDevices = await devices.select(count).executeTakeFirstOrThrow()
  const ofUpgrades = await upgrades.select(count).executeTakeFirstOrThrow()
  return { devices: Number(ofDevices.count), upgrades: Number(ofUpgrades.count) }
}

/** Locks webhooks, then their lanes, each in the order of their keys, as those do who deliver. */
export async function lockWebhooks(tx: Tx, scope: OrgScope | SiteScope): Promise<void> {
  let hooks = tx.selectFrom('webhook').select('id').where('orgId', '=', scope.orgId)
  if ('siteId' in scope) hooks = hooks.where('siteId', '=', scope.siteId)
  const locked = await hooks.orderBy('id').forUpdate().execute()
  await tx
    .selectFrom('webhookLane')
    .select('webhookId')
    .where('orgId', '=', scope.orgId)
    .where('webhookId', '=', anyOf(locked.map(({ id }) => id)))
    .orderBy('webhookId')
    .forUpdate()
    .execute()
}

/**
 * Deletes the site with everything of it. The record of past upgrades stays with their organization.
 * @throws AppError conflict where something of it is still needed.
 */
export async function deleteSiteRow(tx: Tx, { orgId, siteId }: SiteScope): Promise<void> {
  await orConflict('site', () => tx.deleteFrom('site').where('orgId', '=', orgId).where('id', '=', siteId).execute())
}

/**
 * Deletes the organization with everything of it, and the accounts that its identity providers vouch
 * for. Its audit log stays; the record of deliveries goes when it is too old.
 * @throws AppError conflict where something of it is still needed.
 */
export async function deleteOrgRow(tx: Tx, { orgId }: OrgScope): Promise<void> {
  const ssoIds = tx.selectFrom('sso').select('id').where('orgId', '=', orgId)
  await tx.deleteFrom('admin').where('ssoId', 'in', ssoIds).execute()
  // These have no foreign key, because every event of a device would check it.
  for (const table of ['deviceEvent', 'firmwareDownload', 'activeUpgradeTarget'] as const)
    await tx.deleteFrom(table).where('orgId', '=', orgId).execute()
  await orConflict('organization', () => tx.deleteFrom('org').where('id', '=', orgId).execute())
}

/** What other nouns keep, and does not go along by itself, stands in the way. */
async function orConflict(what: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (isForeignKeyViolation(error)) throw new AppError('conflict', `The ${what} still has ${error.table}.`)
    throw error
  }
}

/** Takes a site that goes out of what installers may work on. The organization has to be held. */
export async function forgetInstallerSite(tx: Tx, { orgId }: OrgScope, siteId: string): Promise<void> {
  await sql`
    update org_setting set doc = jsonb_set(doc, '{installer,extra_site_ids}', (doc #> '{installer,extra_site_ids}') - ${siteId}::text)
    where org_id = ${orgId} and doc #> '{installer,extra_site_ids}' ? ${siteId}`.execute(tx)
}

/** Takes the edge appliances out of a site that goes. @returns As they were, ordered by id. */
export async function unassignMxedges(tx: Tx, { orgId, siteId }: SiteScope, at: Date): Promise<EventMxedge[]> {
  const mxedges = await tx
    .selectFrom('mxedge')
    .select(['id', 'name', 'mac', 'mxclusterId', 'siteId'])
    .where('orgId', '=', orgId)
    .where('siteId', '=', siteId)
    .orderBy('id')
    .forUpdate()
    .execute()
  await tx
    .updateTable('mxedge')
    .set({ siteId: null, modifiedAt: at })
    .where('orgId', '=', orgId)
    .where('siteId', '=', siteId)
    .execute()
  return mxedges
}

export interface NewAccountLog {
  readonly id: string
  readonly adminId: string
  readonly message: string
  readonly srcIp: string | null
  readonly userAgent: string | null
  readonly createdAt: Date
}

export async function insertAccountLogs(tx: Tx, rows: readonly NewAccountLog[]): Promise<void> {
  if (rows.length === 0) return
  await tx
    .insertInto('accountLog')
    .values(rows.map((row) => ({ ...row, before: null, after: null })))
    .execute()
}
