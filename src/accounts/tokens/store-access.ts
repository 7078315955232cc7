import type { AdminScope } from '../../access/scope.ts'
import type { Reader, Tx } from '../../platform/db.ts'

/** A token as its owner knows it again. */
export interface NamedToken {
  readonly name: string
  /** First and last four characters of its key. */
  readonly keyHint: string
}

export interface OrgToken extends NamedToken {
  readonly orgName: string
}

/** Those of the account itself, oldest first. Locked in one order, as by everybody who locks several. */
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

/** Tokens of organizations that the admin has made, oldest first. */
export function listOrgTokensMadeBy(reader: Reader, { adminId }: AdminScope): Promise<OrgToken[]> {
  return reader
    .selectFrom('apiToken')
    .innerJoin('org', 'org.id', 'apiToken.orgId')
    .select(['apiToken.name', 'apiToken.keyHint', 'org.name as orgName'])
    .where('apiToken.createdBy', '=', adminId)
    .orderBy('apiToken.id')
    .execute()
}
