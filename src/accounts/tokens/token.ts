import { randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { ApiTokenTable } from '../../access/tables.ts'
import { sha256 } from '../../platform/secrets.ts'

/** `creatorEmail` is null if the creator was deleted or was a token itself. */
export type Token = Selectable<ApiTokenTable> & { readonly creatorEmail: string | null }

/** A token with its key, which is shown only here. */
export interface CreatedToken {
  readonly token: Token
  readonly key: string
}

export interface TokenKey {
  /** 256 random bits. */
  readonly key: string
  readonly keyHash: Buffer
  /** The first and last four characters, by which lists identify the key. */
  readonly keyHint: string
}

export function generateTokenKey(): TokenKey {
  const key = randomBytes(32).toString('base64url')
  return { key, keyHash: sha256(key), keyHint: `${key.slice(0, 4)}...${key.slice(-4)}` }
}

/** A token as the audit log shows it. */
export function auditDocument(token: Pick<Token, 'name' | 'privileges' | 'srcIps'>): Record<string, unknown> {
  const { name, privileges, srcIps } = token
  return {
    name,
    ...(privileges !== null && { privileges }),
    ...(srcIps !== null && { src_ips: srcIps }),
  }
}
