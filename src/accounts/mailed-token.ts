import { randomBytes } from 'node:crypto'
import { addMs } from '../platform/clock.ts'
import type { Tx } from '../platform/db.ts'
import { AppError } from '../platform/errors.ts'
import { sha256 } from '../platform/secrets.ts'
import {
  type MailedToken,
  type MailedTokenKey,
  deleteMailedTokensBefore,
  insertMailedToken,
} from './store-mailed-token.ts'

/** So long a link that is too old is told so, and not that it never was. */
const KEEP_EXPIRED_MS = 86_400_000

export interface MailedTokenRequest extends Pick<MailedToken, 'adminId' | 'purpose' | 'doc'> {
  readonly now: Date
  readonly validMs: number
}

/** Makes what a mailed link carries: 256 bits, of which the hash is stored. */
export async function createMailedToken(tx: Tx, { now, validMs, ...row }: MailedTokenRequest): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await deleteMailedTokensBefore(tx, addMs(now, -KEEP_EXPIRED_MS))
  await insertMailedToken(tx, { ...row, tokenHash: sha256(token), createdAt: now, expiresAt: addMs(now, validMs) })
  return token
}

export function mailedTokenKey(purpose: MailedToken['purpose'], token: string): MailedTokenKey {
  return { tokenHash: sha256(token), purpose }
}

/** @throws AppError not_found for one that is unknown or used up, invalid for one that is too old. */
export function requireValid(token: MailedToken | undefined, now: Date): MailedToken {
  if (token === undefined) throw new AppError('not_found', 'Not found.')
  if (token.expiresAt <= now) throw new AppError('invalid', 'expired')
  return token
}
