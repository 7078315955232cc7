import type { OrgScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { lockOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { lockSso } from './store.ts'
import { deleteSsoAdminsByEmail } from './saml/store-saml.ts'

/**
 * Deletes accounts of the SSO with their sessions. A person whom the identity provider still names gets a new account
 * at the next login.
 *
 * @returns The addresses in lower case: those with an account, and those without.
 */
export async function deleteAdminsOfSso(
  ctx: Context,
  scope: OrgScope,
  { ssoId, emails }: { readonly ssoId: string; readonly emails: readonly string[] },
): Promise<{ readonly deleted: string[]; readonly unknown: string[] }> {
  const wanted = [...new Set(emails.map((email) => email.trim().toLowerCase()))]
  return inTx(ctx, async (tx) => {
    await lockOrg(tx, scope)
    const sso = await lockSso(tx, scope, ssoId)
    const found = new Set(await deleteSsoAdminsByEmail(tx, scope, { ssoId, emails: wanted }))
    const deleted = wanted.filter((email) => found.has(email))
    if (deleted.length > 0)
      await appendAudit(tx, scope, {
        message: `Delete admins of SSO "${sso.doc.name}"`,
        before: { emails: deleted },
        at: ctx.clock.now(),
      })
    return { deleted, unknown: wanted.filter((email) => !found.has(email)) }
  })
}
