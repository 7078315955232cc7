import type { KeyObject } from 'node:crypto'
import { isSignedBy } from '../../platform/ed25519.ts'
import { invalidField } from '../../platform/errors.ts'

/** The signers that the operator trusts. */
export interface SignatureTrust {
  /** Ed25519 keys; if empty, signatures are stored without a check, for receivers that check them. */
  readonly keys: readonly KeyObject[]
  /** True: an image without a signature is refused. */
  readonly isRequired: boolean
}

/** @throws AppError invalid naming `signature`. */
export function checkSignature(
  { keys, isRequired }: SignatureTrust,
  { sha256, signature }: { readonly sha256: string; readonly signature: string | null },
): void {
  if (signature === null) {
    if (isRequired) throw invalidField('signature', 'is missing, and this server stores signed images only')
    return
  }
  if (keys.length > 0 && !keys.some((key) => isSignedBy(key, { sha256, signature })))
    throw invalidField(
      'signature',
      `is by none of the keys that this server trusts (SIGNALBOX_FIRMWARE_KEYS), for the SHA-256 ${sha256}`,
    )
}
