import type { AdminScope } from '../../access/scope.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import type { Identity } from './providers/client.ts'
import type { Code, Flow } from './flows/flow.ts'

/** @unscoped The flow is bound to a cookie or to the credential of the caller; see binding.ts. */
export async function insertFlow(
  tx: Tx,
  { bound, ...flow }: Flow & { readonly stateHash: Buffer; readonly sealed: Buffer; readonly createdAt: Date },
): Promise<void> {
  await tx
    .insertInto('oauthFlow')
    .values({ ...flow, boundHash: bound })
    .execute()
}

/**
 * Deletes and returns the flow: its state works once.
 *
 * @unscoped The state and the binding are the proof.
 */
export async function consumeFlow(
  tx: Tx,
  stateHash: Buffer,
): Promise<(Flow & { readonly sealed: Buffer }) | undefined> {
  return tx
    .deleteFrom('oauthFlow')
    .where('stateHash', '=', stateHash)
    .returning(['provider', 'purpose', 'boundHash as bound', 'sealed', 'forward', 'expiresAt'])
    .executeTakeFirst()
}

/** @unscoped As insertFlow(). */
export async function insertCode(
  tx: Tx,
  { bound, ...code }: Code & { readonly codeHash: Buffer; readonly sealed: Buffer },
): Promise<void> {
  await tx
    .insertInto('oauthCode')
    .values({ ...code, boundHash: bound })
    .execute()
}

/**
 * Deletes and returns the grant behind the code, which works once.
 *
 * @unscoped The code and the binding are the proof.
 */
export async function consumeCode(tx: Tx, codeHash: Buffer): Promise<(Code & { readonly sealed: Buffer }) | undefined> {
  return tx
    .deleteFrom('oauthCode')
    .where('codeHash', '=', codeHash)
    .returning(['provider', 'purpose', 'boundHash as bound', 'sealed', 'expiresAt'])
    .executeTakeFirst()
}

/**
 * Deletes flows whose person never returned, and codes that were never redeemed.
 *
 * @unscoped A chore, for all accounts.
 */
export async function deleteExpired(tx: Tx, now: Date): Promise<void> {
  await tx.deleteFrom('oauthFlow').where('expiresAt', '<=', now).execute()
  await tx.deleteFrom('oauthCode').where('expiresAt', '<=', now).execute()
}

/** Lists the providers that the admin has linked, configured or not. */
export async function listLinkedProviders(reader: Reader, { adminId }: AdminScope): Promise<string[]> {
  const rows = await reader.selectFrom('oauthIdentity').select('provider').where('adminId', '=', adminId).execute()
  return rows.map(({ provider }) => provider)
}

export interface LinkedAdmin {
  readonly adminId: string
  readonly email: string
  readonly hasSecondFactor: boolean
}

/**
 * Finds the admin who has linked the identity. Nothing else is compared, least of all an e-mail address.
 *
 * @unscoped The provider of the identity is the proof.
 */
export async function findAdminByIdentity(
  reader: Reader,
  provider: string,
  identity: Identity,
): Promise<LinkedAdmin | undefined> {
  const row = await selectByIdentity(reader, provider, identity).executeTakeFirst()
  return row && linkedAdminOf(row)
}

/**
 * Does the same as findAdminByIdentity(), and locks the account until `tx` ends.
 *
 * @unscoped As findAdminByIdentity().
 */
export async function lockAdminByIdentity(
  tx: Tx,
  provider: string,
  identity: Identity,
): Promise<LinkedAdmin | undefined> {
  const row = await selectByIdentity(tx, provider, identity).forNoKeyUpdate('admin').executeTakeFirst()
  return row && linkedAdminOf(row)
}

function selectByIdentity(reader: Reader, provider: string, { issuer, subject }: Identity) {
  return reader
    .selectFrom('oauthIdentity')
    .innerJoin('admin', 'admin.id', 'oauthIdentity.adminId')
    .select(['admin.id as adminId', 'admin.email', 'admin.totpSince'])
    .where('oauthIdentity.provider', '=', provider)
    .where('oauthIdentity.issuer', '=', issuer)
    .where('oauthIdentity.subject', '=', subject)
}

interface LinkedRow extends Pick<LinkedAdmin, 'adminId' | 'email'> {
  readonly totpSince: Date | null
}

function linkedAdminOf({ adminId, email, totpSince }: LinkedRow): LinkedAdmin {
  return { adminId, email, hasSecondFactor: totpSince !== null }
}

/** @returns False if it is linked to an admin already; then nothing is changed. */
export async function insertIdentity(
  tx: Tx,
  { adminId }: AdminScope,
  link: Identity & { readonly provider: string },
): Promise<boolean> {
  const inserted = await tx
    .insertInto('oauthIdentity')
    .values({ ...link, adminId })
    .onConflict((conflict) => conflict.columns(['provider', 'issuer', 'subject']).doNothing())
    .returning('provider')
    .executeTakeFirst()
  return inserted !== undefined
}

/**
 * Deletes all identities that the admin has linked.
 *
 * @returns The names of their providers, in alphabetical order.
 */
export async function deleteIdentities(tx: Tx, { adminId }: AdminScope): Promise<string[]> {
  const rows = await tx.deleteFrom('oauthIdentity').where('adminId', '=', adminId).returning('provider').execute()
  return rows.map(({ provider }) => provider).sort()
}

export async function deleteIdentity(tx: Tx, { adminId }: AdminScope, provider: string): Promise<Identity | undefined> {
  return tx
    .deleteFrom('oauthIdentity')
    .where('adminId', '=', adminId)
    .where('provider', '=', provider)
    .returning(['issuer', 'subject'])
    .executeTakeFirst()
}
