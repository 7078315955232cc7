import { randomBytes } from 'node:crypto'
import { uuidv7 } from 'uuidv7'
import type { Passwords } from '../access/password.ts'
import { systemScope } from '../access/scope.ts'
import { insertPrivilege } from '../access/store.ts'
import { appendAudit } from '../events/append.ts'
import { insertOrg } from '../orgs/store.ts'
import type { Context } from '../platform/context.ts'
import { type Tx, inTx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { sha256 } from '../platform/secrets.ts'
import { insertAdmin, insertApiToken } from './store.ts'

export interface BootstrapRequest {
  readonly email: string
  readonly password: string
  readonly orgName: string
}

export interface Bootstrapped {
  readonly adminId: string
  readonly orgId: string
  /** Shown here only; what is stored is its hash. */
  readonly apiToken: string
}

/**
 * Makes an organization with its first administrator and an API token of theirs, in one transaction.
 * For the operator: whoever can read the data folder.
 *
 * @throws AppError conflict when the address has an account already.
 */
export async function bootstrap(ctx: Context, passwords: Passwords, request: BootstrapRequest): Promise<Bootstrapped> {
  const passwordHash = await passwords.hash(request.password)
  const at = ctx.clock.now()
  const email = request.email.trim().toLowerCase()
  return inTx(ctx, async (tx) => {
    const adminId = uuidv7()
    const orgId = uuidv7()
    const name = { firstName: '', lastName: '' }
    if (!(await insertAdmin(tx, { id: adminId, email, passwordHash, ...name, createdAt: at })))
      throw new AppError('conflict', `${email} has an account already`)
    const scope = systemScope('operator', orgId)
    await insertOrg(tx, scope, { name: request.orgName, doc: {}, at })
    await insertPrivilege(tx, { orgId, id: uuidv7(), adminId, scope: 'org', role: 'admin' })
    const apiToken = await createApiToken(tx, { adminId, name: 'bootstrap', at })
    await appendAudit(tx, scope, {
      message: `Add Org "${request.orgName}"`,
      after: { name: request.orgName, admin: email },
      at,
    })
    return { adminId, orgId, apiToken }
  })
}

/** 256 bits; the first and last four characters are the hint that lists show. */
async function createApiToken(
  tx: Tx,
  { adminId, name, at }: { readonly adminId: string; readonly name: string; readonly at: Date },
): Promise<string> {
  const key = randomBytes(32).toString('base64url')
  const keyHint = `${key.slice(0, 4)}...${key.slice(-4)}`
  await insertApiToken(tx, { id: uuidv7(), adminId, name, keyHash: sha256(key), keyHint, createdAt: at })
  return key
}
