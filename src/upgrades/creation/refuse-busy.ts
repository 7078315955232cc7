import { AppError } from '../../platform/errors.ts'
import type { CreatedUpgrade } from './create-upgrade.ts'

/** The maximum number of reasons in an error text. */
const MAX_REASONS = 5

/**
 * Refuses an upgrade of devices that its request names one by one, if nothing is to be done with any of them because other
 * upgrades keep some. The record of an upgrade that selects its devices names them in its notes instead.
 * @param unit What the request names: "router".
 * @throws AppError invalid; the caller's transaction writes nothing then.
 */
export function refuseBusy({ plans, busy, sites }: CreatedUpgrade, unit: 'device' | 'router'): void {
  if (busy.size === 0 || sites.some(({ total }) => total > 0)) return
  if (plans.every(({ device }) => busy.has(device.id)))
    throw new AppError('invalid', `Every ${unit} that is named is in another upgrade`)
  const reasons = sites.flatMap(({ notes }) => notes.flatMap(({ mac, reason }) => (mac === undefined ? [] : [reason])))
  const texts = [...new Set(reasons)].slice(0, MAX_REASONS)
  throw new AppError('invalid', `No ${unit} that is named can be upgraded: ${texts.join('; ')}`)
}
