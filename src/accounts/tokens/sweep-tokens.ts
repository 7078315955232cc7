import { idleSince } from '../../access/authentication/decide-token.ts'
import { type Actor, systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { appendAccountChange } from '../account-log.ts'
import { deleteIdleTokens } from './store.ts'
import { type Token, auditDocument } from './token.ts'

/** Other processes write the uses of tokens some minutes late. */
const GRACE_MS = 10 * 60e3
const AT_ONCE = 100

const sweeper: Actor = { adminId: null, name: 'accounts', srcIp: null, userAgent: null }

/** Deletes tokens that were unused for more than 90 days and so no longer work. Source: spec, "Authentication", 3. */
export async function sweepTokens(ctx: Context): Promise<void> {
  const now = ctx.clock.now()
  const before = addMs(idleSince(now), -GRACE_MS)
  let removed: number
  do {
    removed = await inTx(ctx, async (tx) => {
      const tokens = await deleteIdleTokens(tx, { before, limit: AT_ONCE })
      for (const token of tokens) await recordExpiry(tx, token, now)
      return tokens.length
    })
  } while (removed === AT_ONCE)
}

async function recordExpiry(tx: Tx, token: Omit<Token, 'creatorEmail'>, at: Date): Promise<void> {
  const entry = { message: `Expire API Token "${token.name}"`, before: auditDocument(token), at }
  const { adminId, orgId } = token
  if (adminId !== null) await appendAccountChange(tx, { adminId, actor: sweeper, ...entry })
  if (orgId !== null) await appendAudit(tx, systemScope('accounts', orgId), entry)
}
