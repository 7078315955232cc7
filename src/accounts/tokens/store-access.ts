import type { AdminScope } from '../../access/scope.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'

/** A token as shown to its owner. */
export interface NamedToken {
  readonly name: string
  /** The first and last four characters of its key. */
  readonly keyHint: string
}

export interface OrgToken extends NamedToken {
  readonly orgName: string
}

/**
 * Deletes the tokens of the account itself and returns them, oldest first. All transactions that lock several tokens
 * lock them in this order.
 */
export async function deleteTokensOfAdmin(tx: Tx, { adminId }: AdminScope): Promise<NamedToken[]> {
  const tokens = await tx
    .selectFrom('apiToken')
    .select(['name', 'keyHint'])
    .where('adminId', '=', adminId)
    .orderBy('id')
    .forUpdate()
    .execute()
  await tx.deleteFrom('apiToken').where('adminId', '=', adminId).execute()
  return tokens
}

/** Lists the tokens of organizations that the admin has created, oldest first. */
export function listOrgTokensMadeBy(reader: Reader, { adminId }: AdminScope): Promise<OrgToken[]> {
  return reader
    .selectFrom('apiToken')
    .innerJoin('org', 'org.id', 'apiToken.orgId')
    .select(['apiToken.name', 'apiToken.keyHint', 'org.name as orgName'])
    .where('apiToken.createdBy', '=', adminId)
    .orderBy('apiToken.id')
    .execute()
}
