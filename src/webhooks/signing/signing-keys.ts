import { type KeyObject, createPrivateKey, createPublicKey, hash, randomBytes } from 'node:crypto'
import type { Document } from '../../platform/json/document.ts'
import { invalidField } from '../../platform/errors.ts'

/** An Ed25519 key that signs the messages of one webhook. */
export interface SigningKey {
  /** 32 bytes, base64. */
  readonly seed: string
  /** The time until which a replaced key still signs; null for the current one. */
  readonly untilMs: number | null
}

/** Limits the signatures of a message. */
const MAX_FORMER = 3
/** The bytes before the seed in a private key. RFC 8410, 7. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const KEY_BYTES = 32

function createSigningKey(): SigningKey {
  return { seed: randomBytes(KEY_BYTES).toString('base64'), untilMs: null }
}

/** Returns the keys of a webhook after a change: those from before, or the first one as soon as the webhook is to sign with one. */
export function planSigningKeys(doc: Document, keys: readonly SigningKey[], now: Date): readonly SigningKey[] {
  if (keys.length === 0) return doc['ed25519_signatures'] === true ? [createSigningKey()] : []
  return keysInUse(keys, now)
}

/**
 * Returns the keys after the current one is replaced, which signs beside the new one for `overlapMs`.
 * @throws AppError invalid when the webhook has no key, or too many would sign.
 */
export function replaceSigningKey(keys: readonly SigningKey[], now: Date, overlapMs: number): readonly SigningKey[] {
  if (keys.length === 0) throw invalidField('ed25519_signatures', 'must be true before the key can be replaced')
  const former = keysInUse(keys, now).map(({ seed, untilMs }) => ({
    seed,
    untilMs: untilMs ?? now.getTime() + overlapMs,
  }))
  const inUse = keysInUse(former, now)
  if (inUse.length > MAX_FORMER)
    throw invalidField('secret_overlap_s', `at most ${MAX_FORMER} former keys may be valid at the same time`)
  return [createSigningKey(), ...inUse]
}

export function keysInUse(keys: readonly SigningKey[], now: Date): SigningKey[] {
  return keys.filter(({ untilMs }) => untilMs === null || untilMs > now.getTime())
}

/** Returns the current signing keys, the newest first; none if the webhook has no such signatures. */
export function signersOf(doc: Document, keys: readonly SigningKey[], now: Date): KeyObject[] {
  return doc['ed25519_signatures'] === true ? keysInUse(keys, now).map(privateKeyOf) : []
}

function privateKeyOf({ seed }: SigningKey): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8, Buffer.from(seed, 'base64')]), format: 'der', type: 'pkcs8' })
}

/** A key as receivers get it: a JSON Web Key (RFC 8037) that also has the text of Standard Webhooks. */
export interface PublicKey {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly alg: 'EdDSA'
  readonly use: 'sig'
  readonly kid: string
  /** base64url. */
  readonly x: string
  /** `whpk_` and base64. */
  readonly public_key: string
  /** Seconds since 1970; absent for the current key. */
  readonly until?: number
}

export function publicKeyOf(key: SigningKey): PublicKey {
  const raw = createPublicKey(privateKeyOf(key)).export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES)
  return {
    kty: 'OKP',
    crv: 'Ed25519',
    alg: 'EdDSA',
    use: 'sig',
    kid: hash('sha256', raw, 'hex').slice(0, 16),
    x: raw.toString('base64url'),
    public_key: `whpk_${raw.toString('base64')}`,
    ...(key.untilMs !== null && { until: key.untilMs / 1000 }),
  }
}
