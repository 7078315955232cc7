import { setTimeout as delay } from 'node:timers/promises'
import { uuidv7 } from '../../platform/uuidv7.ts'
import type { PlaceScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { invalidField } from '../../platform/errors.ts'
import { isPulled } from '../delivery-options.ts'
import { orderByCreation } from '../lanes/store-order.ts'
import { hmacKeysOf, signatureHeaders } from '../signing/sign.ts'
import { signersOf } from '../signing/signing-keys.ts'
import { type Pull, listNumbered, listUpTo, lockPulledLane, numberMessages, recordPulled } from './store.ts'
import { type WebhookRow, lockWebhook } from '../store.ts'
import { openWebhookSecrets, signingSecrets } from '../secrets/webhook-secrets.ts'

/** Bounds an answer. */
const MAX_BYTES = 4 * 1024 * 1024
/** Bounds one transaction, during which the router waits for the lane. */
const ACK_BATCH = { count: 500, bytes: MAX_BYTES }

/** A message as its receiver would get it. */
export interface HandedMessage {
  readonly id: string
  readonly topic: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Handed {
  readonly messages: readonly HandedMessage[]
  /** Acknowledges these messages, and requests later ones. */
  readonly cursor: bigint
}

export interface PullRequest {
  readonly id: string
  /** Messages after this place; 0 for all that were not acknowledged. */
  readonly cursor: bigint
  readonly limit: number
}

/** Waits for that many milliseconds. */
type Pause = (ms: number) => Promise<unknown>

/**
 * Repeats a transaction until it has a result. In between it pauses for as long as the last one took, with its wait for other requests: the
 * router tries again and again to get the lane, and does not wait for it.
 */
async function untilResult<T>(attempt: () => Promise<T | null>, pause: Pause): Promise<T> {
  for (;;) {
    const beganMs = performance.now()
    const result = await attempt()
    if (result !== null) return result
    await pause(performance.now() - beganMs)
  }
}

/**
 * Returns messages of a webhook of the type `pull`, the oldest first, until they are acknowledged: with the same ids
 * and bytes each time, and a new signature.
 */
export function pullMessages(
  ctx: Context,
  scope: PlaceScope,
  request: PullRequest,
  pause: Pause = delay,
): Promise<Handed> {
  return untilResult(() => pullOrOrder(ctx, scope, request), pause)
}

/** @returns Null if it has brought a portion of the messages into their order, instead. */
function pullOrOrder(ctx: Context, scope: PlaceScope, { id, cursor, limit }: PullRequest): Promise<Handed | null> {
  const now = ctx.clock.now()
  const lane = { orgId: scope.orgId, webhookId: id }
  return inTx(ctx, async (tx) => {
    const { enabled, doc, secrets: sealed } = assertPulled(await lockWebhook(tx, scope, id))
    const { last, isOrdered } = await lockPulledLane(tx, lane)
    assertKnown(cursor, last)
    if (!isOrdered && (await orderByCreation(tx, lane, now))) return null
    const pull: Pull = { after: cursor, enabled, limit, bytes: MAX_BYTES }
    const known = await listNumbered(tx, lane, pull)
    if (known.length < limit) await numberMessages(tx, lane, { enabled, limit: limit - known.length })
    const found = await listNumbered(tx, lane, pull)
    const opened = openWebhookSecrets(ctx.secrets, id, sealed)
    const secrets = signingSecrets(opened, now).map(hmacKeysOf)
    const keys = signersOf(doc, opened.signingKeys, now)
    return {
      messages: found.map(({ id: messageId, topic, body }) => ({
        id: messageId,
        topic,
        headers: {
          'Content-Type': 'application/json',
          ...signatureHeaders(secrets, { messageId, at: now, body }, keys),
        },
        body: body.toString('utf8'),
      })),
      cursor: BigInt(found.at(-1)?.seq ?? cursor),
    }
  })
}

/**
 * Removes the messages up to the cursor and records them as delivered. A cursor may come again.
 * @returns How many there were.
 */
export function acknowledgeMessages(
  ctx: Context,
  scope: PlaceScope,
  { id, cursor }: { readonly id: string; readonly cursor: bigint },
  pause: Pause = delay,
): Promise<number> {
  const lane = { orgId: scope.orgId, webhookId: id }
  let acknowledged = 0
  const acknowledgeSome = async (): Promise<number | null> => {
    const { count, hasMore } = await inTx(ctx, async (tx) => {
      assertPulled(await lockWebhook(tx, scope, id))
      assertKnown(cursor, (await lockPulledLane(tx, lane)).last)
      const { ids, ...others } = await listUpTo(tx, lane, { cursor, ...ACK_BATCH })
      const records = ids.map((messageId) => ({ id: messageId, deliveryId: uuidv7() }))
      if (records.length > 0) await recordPulled(tx, lane, { records, at: ctx.clock.now() })
      return { count: records.length, ...others }
    })
    acknowledged += count
    return hasMore ? null : acknowledged
  }
  return untilResult(acknowledgeSome, pause)
}

function assertPulled(row: WebhookRow): WebhookRow {
  if (!isPulled(row.doc)) throw invalidField('type', 'must be pull: the messages of this webhook are sent')
  return row
}

function assertKnown(cursor: bigint, last: bigint): void {
  if (cursor > last) throw invalidField('cursor', `${cursor} was never returned`)
}
