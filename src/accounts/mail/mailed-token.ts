import { randomBytes } from 'node:crypto'
import { addMs } from '../../platform/time/clock.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { sha256 } from '../../platform/secrets.ts'
import {
  type MailedToken,
  type MailedTokenKey,
  deleteMailedTokensBefore,
  insertMailedToken,
} from './store-mailed-token.ts'

/** How long an expired link is still reported as expired. After that it is unknown. */
const KEEP_EXPIRED_MS = 86_400_000

export interface MailedTokenRequest extends Pick<MailedToken, 'adminId' | 'purpose' | 'doc'> {
  readonly now: Date
  readonly validMs: number
}

/** Creates the token of a mailed link, which has 256 random bits. The database keeps its hash. */
export async function createMailedToken(tx: Tx, { now, validMs, ...row }: MailedTokenRequest): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await deleteMailedTokensBefore(tx, addMs(now, -KEEP_EXPIRED_MS))
  await insertMailedToken(tx, { ...row, tokenHash: sha256(token), createdAt: now, expiresAt: addMs(now, validMs) })
  return token
}

export function mailedTokenKey(purpose: MailedToken['purpose'], token: string): MailedTokenKey {
  return { tokenHash: sha256(token), purpose }
}

/** @throws AppError not_found if the token is unknown or was used already, invalid if it has expired. */
export function requireValid(token: MailedToken | undefined, now: Date): MailedToken {
  if (token === undefined) throw new AppError('not_found', 'Not found.')
  if (token.expiresAt <= now) throw new AppError('invalid', 'expired')
  return token
}
