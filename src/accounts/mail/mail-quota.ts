import { uuidv7 } from '../../platform/uuidv7.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Tx } from '../../platform/database/db.ts'
import { sha256 } from '../../platform/secrets.ts'
import { countMailsSent, insertMailSent, lockMailAddress } from './store-mail-quota.ts'

const MAILS_PER_WINDOW = 3
/** How long a mail counts against the quota. */
export const MAIL_WINDOW_MS = 3600e3

/**
 * True if one more mail may go to an address that an unknown person has named. The mail is then counted in the caller's
 * transaction. Calls for the same address wait for each other until that transaction ends.
 *
 * @param what The address, with a prefix for mails that have their own quota.
 */
export async function consumeMailQuota(tx: Tx, what: string, now: Date): Promise<boolean> {
  const addressHash = sha256(what.trim().toLowerCase())
  await lockMailAddress(tx, addressHash)
  if ((await countMailsSent(tx, addressHash, addMs(now, -MAIL_WINDOW_MS))) >= MAILS_PER_WINDOW) return false
  await insertMailSent(tx, { addressHash, id: uuidv7(), sentAt: now })
  return true
}
