import { uuidv7 } from '../platform/uuidv7.ts'
import type { Passwords } from '../access/authentication/password.ts'
import { adminScope, systemScope } from '../access/scope.ts'
import { insertPrivilege } from '../access/store-privileges.ts'
import { appendAudit } from '../events/append.ts'
import { insertOrg } from '../orgs/store.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { AppError } from '../platform/errors.ts'
import { insertAdmin } from './store.ts'
import { insertToken } from './tokens/store.ts'
import { generateTokenKey } from './tokens/token.ts'

export interface BootstrapRequest {
  readonly email: string
  readonly password: string
  readonly orgName: string
}

export interface Bootstrapped {
  readonly adminId: string
  readonly orgId: string
  /** Returned only here: the database stores its hash. */
  readonly apiToken: string
}

/**
 * Creates an organization with its first administrator and an API token of theirs, in one transaction. Only the
 * operator calls it: it needs access to the data folder.
 *
 * @throws AppError conflict if the address has an account already.
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
      throw new AppError('conflict', `The address ${email} has an account already`)
    const scope = systemScope('operator', orgId)
    await insertOrg(tx, scope, { name: request.orgName, doc: {}, at })
    await insertPrivilege(tx, scope, { id: uuidv7(), adminId, scope: 'org', role: 'admin' })
    const { key: apiToken, ...hashed } = generateTokenKey()
    const token = { id: uuidv7(), ...hashed, name: 'bootstrap', privileges: null, srcIps: null, createdAt: at }
    await insertToken(tx, adminScope(adminId), token)
    await appendAudit(tx, scope, {
      message: `Add Org "${request.orgName}"`,
      after: { name: request.orgName, admin: email },
      at,
    })
    return { adminId, orgId, apiToken }
  })
}
