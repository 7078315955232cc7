import type { Principal } from '../../../access/principal.ts'
import { sha256 } from '../../../platform/secrets.ts'

/** Hash of the credential that a flow is bound to: only its holder may redeem the flow's code. */
export type Binding = Buffer

export function bindingOfCookie(value: string): Binding {
  return sha256(`cookie ${value}`)
}

/** @param sessionHash SHA-256 of the session cookie's value. */
export function bindingOfSession(sessionHash: Buffer): Binding {
  return sha256(`session ${sessionHash.toString('hex')}`)
}

type Proof = Pick<Principal, 'sessionHash' | 'tokenId' | 'adminId'>

/** Binds to the credential of the caller: another session or token of the same account is another binding. */
export function bindingOfCaller({ sessionHash, tokenId, adminId }: Proof): Binding {
  if (sessionHash !== null) return bindingOfSession(sessionHash)
  return tokenId === null ? sha256(`basic ${adminId}`) : sha256(`token ${tokenId}`)
}
