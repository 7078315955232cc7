import { type Transactional, inTx } from '../database/db.ts'
import { AppError } from '../errors.ts'
import type { Secrets } from '../secrets.ts'
import { findSealedKey, insertSealedKey } from './store-sealing.ts'

const KNOWN = 'signalbox'
const AAD = 'master key'

/**
 * Checks that the master key is the one with which the secrets of this database are sealed. The first check of a database
 * accepts any key and records it.
 * @param keyFile Where the key is, for the error.
 * @throws AppError `unavailable` for another key.
 */
export async function checkMasterKey(
  ctx: Transactional & { readonly secrets: Secrets },
  keyFile: string,
): Promise<void> {
  await inTx(ctx, async (tx) => {
    const sealed = await findSealedKey(tx)
    if (sealed === undefined) return insertSealedKey(tx, ctx.secrets.seal(KNOWN, AAD))
    if (!opens(ctx.secrets, sealed))
      throw new AppError(
        'unavailable',
        `${keyFile} is not the key with which the secrets in the database are encrypted: restore it from the backup of the data folder`,
      )
  })
}

function opens(secrets: Secrets, sealed: Buffer): boolean {
  try {
    return secrets.open(sealed, AAD) === KNOWN
  } catch {
    // The bytes were sealed with another key.
    return false
  }
}
