import { appendAudit } from '../../events/append.ts'
import { type Actor, actorScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { decodeMessage } from './saml/verify-message.ts'
import type { Sso } from './sso.ts'
import { shareSso } from './store.ts'
import { insertFailure } from './store-failures.ts'

const MAX_DETAIL_CHARS = 500
const MAX_MESSAGE_CHARS = 32 * 1024
const MAX_FAILURES = 100

export interface Failure {
  readonly why: string
  /** The message in base64, as received. */
  readonly encoded: string
  readonly from: Pick<Actor, 'srcIp' | 'userAgent'>
}

/** Records the refused message and the reason, for the organization's administrators. */
export async function recordFailure(ctx: Context, sso: Sso, { why, encoded, from }: Failure): Promise<void> {
  const at = ctx.clock.now()
  const detail = storable(why).slice(0, MAX_DETAIL_CHARS)
  const assertion = storable(decodeMessage(encoded)).slice(0, MAX_MESSAGE_CHARS)
  await inTx(ctx, async (tx) => {
    const actor: Actor = { adminId: null, name: `SSO "${sso.doc.name}"`, ...from }
    const scope = actorScope(actor, sso.orgId)
    // The failures of an SSO are deleted with it.
    if ((await shareSso(tx, scope, sso.id)) === undefined) return
    await insertFailure(tx, scope, { ssoId: sso.id, detail, assertion, at, keep: MAX_FAILURES })
    await appendAudit(tx, scope, {
      message: 'Login failed by single sign-on',
      after: { detail },
      at,
    })
  })
}

/** Replaces characters that PostgreSQL can't store. */
function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}
