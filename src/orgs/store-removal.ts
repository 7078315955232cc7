import { sql } from 'kysely'
import type { InOrg, OrgScope, SiteScope } from '../access/scope.ts'
import { type Tx, isForeignKeyViolation } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'

/**
 * Deletes the site with everything that refers to it. The record of past upgrades stays with their organization.
 * @throws AppError conflict where something of it is still needed.
 */
export async function deleteSiteRow(tx: Tx, { orgId, siteId }: SiteScope): Promise<void> {
  await orConflict('site', () => tx.deleteFrom('site').where('orgId', '=', orgId).where('id', '=', siteId).execute())
}

/**
 * Deletes the organization with everything that refers to it. Its audit log stays; the record of deliveries goes when it
 * is too old.
 * @throws AppError conflict where something of it is still needed.
 */
export async function deleteOrgRow(tx: Tx, { orgId }: OrgScope): Promise<void> {
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
export async function forgetInstallerSite(tx: Tx, { orgId }: InOrg, siteId: string): Promise<void> {
  await sql`
    update org_setting set doc = jsonb_set(doc, '{installer,extra_site_ids}', (doc #> '{installer,extra_site_ids}') - ${siteId}::text)
    where org_id = ${orgId} and doc #> '{installer,extra_site_ids}' ? ${siteId}`.execute(tx)
}
