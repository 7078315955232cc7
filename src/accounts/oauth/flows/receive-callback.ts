import { randomBytes } from 'node:crypto'
import { addMs } from '../../../platform/time/clock.ts'
import type { Context } from '../../../platform/context.ts'
import { type Tx, inTx } from '../../../platform/database/db.ts'
import { sha256 } from '../../../platform/secrets.ts'
import { isTrustedUrl } from '../../trusted-url.ts'
import type { Binding } from './binding.ts'
import { type Callback, type CallbackQuery, decideCallback } from './decide-callback.ts'
import { CODE_MS, type Code, type CodeSecrets, openFlow, sealCode } from './flow.ts'
import type { Oauth } from '../oauth.ts'
import { refusal } from '../providers/refusal.ts'
import { insertCode, consumeFlow } from '../store.ts'

export interface CallbackRequest {
  readonly provider: string
  readonly query: CallbackQuery
  readonly proven: readonly Binding[]
}

/** Our own code, and the URL to redirect to with it; null if the code is shown instead. */
export interface CallbackReply {
  readonly code: string
  readonly location: string | null
}

/**
 * Stores the provider's answer, which may be a refusal, and creates a code of our own for it.
 *
 * @throws AppError not_found, unavailable, or invalid if it does not answer a flow of this browser.
 */
export async function receiveCallback(ctx: Context, oauth: Oauth, request: CallbackRequest): Promise<CallbackReply> {
  const { client } = await oauth.clients.get(request.provider)
  const callback: Callback = { ...request, client, now: ctx.clock.now() }
  // Throw a refusal after the commit, because it uses up the state too.
  const outcome = await inTx(ctx, (tx) => answerFlow(ctx, tx, callback))
  if (outcome.kind === 'refuse') throw refusal('invalid_request', outcome.why)
  const { code, forward } = outcome
  if (forward === null) return { code, location: null }
  // The settings may have changed since the flow began.
  if (!isTrustedUrl(forward, ctx.baseUrl, oauth.settings))
    throw refusal('invalid_request', 'The forward URL is not allowed')
  const location = new URL(forward)
  location.searchParams.set('code', code)
  return { code, location: location.href }
}

type Outcome =
  | { readonly kind: 'refuse'; readonly why: string }
  | { readonly kind: 'code'; readonly code: string; readonly forward: string | null }

async function answerFlow(ctx: Context, tx: Tx, callback: Callback): Promise<Outcome> {
  const stateHash = sha256(callback.query.state ?? '')
  const row = await consumeFlow(tx, stateHash)
  const decision = decideCallback(row && { ...row, ...openFlow(ctx, stateHash, row.sealed) }, callback)
  if (decision.kind === 'refuse' || row === undefined)
    return { kind: 'refuse', why: decision.kind === 'refuse' ? decision.why : 'The sign-in is unknown' }
  const { provider, purpose, bound, forward } = row
  const code = await createCode(ctx, tx, {
    provider,
    purpose,
    bound,
    expiresAt: addMs(callback.now, CODE_MS),
    secrets: decision.secrets,
  })
  return { kind: 'code', code, forward }
}

async function createCode(
  ctx: Context,
  tx: Tx,
  { secrets, ...code }: Code & { readonly secrets: CodeSecrets },
): Promise<string> {
  const plain = randomBytes(32).toString('base64url')
  const codeHash = sha256(plain)
  await insertCode(tx, { ...code, codeHash, sealed: sealCode(ctx, codeHash, secrets) })
  return plain
}
