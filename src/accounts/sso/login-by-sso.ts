import { type Actor, type OrgScope, actorScope, adminScope, systemScope } from '../../access/scope.ts'
import { actorName } from '../../access/principal.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import type { WirePrivilege } from '../../access/tables.ts'
import { recordPrivileges } from '../admins/record-privileges.ts'
import { deletePrivileges } from '../../access/store-privileges.ts'
import { insertPrivileges, listPrivilegesOf } from '../admins/store-privileges.ts'
import { type OpenedSession, openSession } from '../sessions/open-session.ts'
import type { Assertion } from './saml/assertion.ts'
import { decidePerson } from './decide-person.ts'
import type { Sso } from './sso.ts'
import { listPrivilegesByRole } from './store-roles.ts'
import { updateSessionEnd, upsertSsoAdmin } from './saml/store-saml.ts'

export interface SsoLogin {
  readonly sso: Sso
  /** An assertion whose signature, times and audience have been checked. */
  readonly assertion: Assertion
  readonly subject: string
  readonly ssoSession: string
  /** When the session at the identity provider ends; null if unknown. */
  readonly endsAt: Date | null
  readonly from: Pick<Actor, 'srcIp' | 'userAgent'>
}

export type SsoLoginOutcome =
  | { readonly kind: 'refuse'; readonly why: string }
  | { readonly kind: 'signed_in'; readonly opened: OpenedSession; readonly secondFactorMissing: boolean }

/**
 * Opens a session for the account of the subject at this identity provider, which is created at the first login. No
 * other account is considered, least of all by an e-mail address. The person's current roles decide their privileges.
 * The caller has locked the organization.
 */
export async function loginBySso(ctx: Context, tx: Tx, login: SsoLogin): Promise<SsoLoginOutcome> {
  const { sso, assertion, subject, ssoSession, endsAt, from } = login
  const now = ctx.clock.now()
  const scope = systemScope('accounts', sso.orgId)
  const roles = await listPrivilegesByRole(tx, scope)
  const decision = decidePerson({ assertion, doc: sso.doc, roles })
  if (decision.kind === 'refuse') return decision
  const { email, firstName, lastName, privileges } = decision
  const admin = await upsertSsoAdmin(tx, scope, { ssoId: sso.id, subject, email, firstName, lastName, at: now })
  const owner = adminScope(admin.id)
  const name = actorName({ firstName, lastName, email, tokenName: '' })
  const actor: Actor = { adminId: admin.id, name, ...from }
  await refreshPrivileges(tx, actorScope(actor, sso.orgId), { adminId: admin.id, privileges, at: now })
  // People of an SSO can't enroll a second factor, but an enrolled one is still required.
  const secondFactor = admin.hasSecondFactor ? 'missing' : 'none'
  const opened = await openSession(ctx, tx, owner, {
    actor: from,
    secondFactor,
    sso: { ssoId: sso.id, ssoSession },
  })
  const expiresAt = endsAt !== null && endsAt < opened.expiresAt ? endsAt : opened.expiresAt
  if (expiresAt !== opened.expiresAt) await updateSessionEnd(tx, owner, { idHash: sha256(opened.sessionId), expiresAt })
  return { kind: 'signed_in', opened: { ...opened, expiresAt }, secondFactorMissing: admin.hasSecondFactor }
}

interface Refresh {
  readonly adminId: string
  readonly privileges: readonly WirePrivilege[]
  readonly at: Date
}

/** Replaces the privileges in the organization of the SSO only: its identity provider has no say in others. */
async function refreshPrivileges(tx: Tx, scope: OrgScope, { adminId, privileges, at }: Refresh): Promise<void> {
  const before = await listPrivilegesOf(tx, scope, adminId)
  await deletePrivileges(tx, scope, adminId)
  await insertPrivileges(tx, scope, { adminId, privileges })
  const after = await listPrivilegesOf(tx, scope, adminId)
  if (JSON.stringify(before) === JSON.stringify(after)) return
  await recordPrivileges(tx, scope, { adminId, message: 'Privileges changed by single sign-on', before, after, at })
}
