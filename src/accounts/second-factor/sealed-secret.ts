import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Secrets } from '../../platform/secrets.ts'

const SealedSecret = Type.Object({
  secret: Type.String(),
  /** The session or token to which it was shown. Only the same one may enroll it. */
  offeredTo: Type.String(),
  offeredAtMs: Type.Integer(),
})

/** A TOTP secret as stored in the admin's row, enrolled or only offered. */
export type OfferedSecret = Type.Static<typeof SealedSecret>

export function sealSecret(secrets: Secrets, adminId: string, offered: OfferedSecret): Buffer {
  return secrets.seal(JSON.stringify(offered), `totp ${adminId}`)
}

export function openSecret(secrets: Secrets, adminId: string, sealed: Buffer): OfferedSecret {
  return Value.Parse(SealedSecret, JSON.parse(secrets.open(sealed, `totp ${adminId}`)))
}
