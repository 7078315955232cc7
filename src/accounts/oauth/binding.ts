import type { Principal } from '../../access/principal.ts'
import { sha256 } from '../../platform/secrets.ts'

/** Whom a flow belongs to, as a hash: only they may redeem its code. */
export type Binding = Buffer

export function bindingOfCookie(value: string): Binding {
  return sha256(`cookie ${value}`)
}

/** @param sessionHash SHA-256 of the session cookie's value. */
export function bindingOfSession(sessionHash: Buffer): Binding {
  return sha256(`session ${sessionHash.toString('hex')}`)
}

type Proof = Pick<Principal, 'sessionHash' | 'tokenId' | 'adminId'>

/** The credential that a caller used: another session or token of the same account is another binding. */
export function bindingOfCaller({ sessionHash, tokenId, adminId }: Proof): Binding {
  if (sessionHash !== null) return bindingOfSession(sessionHash)
  return tokenId === null ? sha256(`basic ${adminId}`) : sha256(`token ${tokenId}`)
}
