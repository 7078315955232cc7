import { sql } from 'kysely'
import type { InOrg, OrgScope, SiteScope } from '../access/scope.ts'
import type { Tx } from '../platform/database/db.ts'
import { isForeignKeyViolation } from '../platform/database/database-errors.ts'
import { AppError } from '../platform/errors.ts'

/**
 * Deletes the site with everything that refers to it. Records of past upgrades stay with the organization.
 * @throws AppError conflict while another row still needs it.
 */
export async function deleteSiteRow(tx: Tx, { orgId, siteId }: SiteScope): Promise<void> {
  await orConflict('site', () => tx.deleteFrom('site').where('orgId', '=', orgId).where('id', '=', siteId).execute())
}

/**
 * Deletes the organization with everything that refers to it. Its audit log stays; delivery records stay until they
 * expire.
 * @throws AppError conflict while another row still needs it.
 */
export async function deleteOrgRow(tx: Tx, { orgId }: OrgScope): Promise<void> {
  await orConflict('organization', () => tx.deleteFrom('org').where('id', '=', orgId).execute())
}

/** Rows of other nouns that are not deleted in cascade prevent the deletion. */
async function orConflict(what: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (isForeignKeyViolation(error)) throw new AppError('conflict', `The ${what} still has ${error.table}`)
    throw error
  }
}

/** Removes a deleted site from the settings for installers. The caller has locked the organization. */
export async function removeInstallerSite(tx: Tx, { orgId }: InOrg, siteId: string): Promise<void> {
  await sql`
    update org_setting set doc = jsonb_set(doc, '{installer,extra_site_ids}', (doc #> '{installer,extra_site_ids}') - ${siteId}::text)
    where org_id = ${orgId} and doc #> '{installer,extra_site_ids}' ? ${siteId}`.execute(tx)
}
