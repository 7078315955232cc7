import { AppError, invalidField } from '../../platform/errors.ts'
import type { CreatedUpgrade } from './create-upgrade.ts'

/** The maximum number of reasons in an error text. */
const MAX_REASONS = 5

/** How a request names the devices of its upgrade. */
interface Naming {
  readonly unit: 'device' | 'router'
  /** The path names the only one, so that no field of the body is wrong. */
  readonly isByPath?: boolean | undefined
}

/**
 * Refuses an upgrade of devices that its request names one by one, if nothing is to be done with any of them because other
 * upgrades keep some. The record of an upgrade that selects its devices names them in its notes instead.
 * @throws AppError invalid; the caller's transaction writes nothing then.
 */
export function refuseBusy({ plans, busy, sites }: CreatedUpgrade, { unit, isByPath = false }: Naming): void {
  if (busy.size === 0 || sites.some(({ total }) => total > 0)) return
  if (isByPath) throw new AppError('invalid', `The ${unit} is in another upgrade`)
  if (plans.every(({ device }) => busy.has(device.id)))
    throw invalidField('device_ids', `every ${unit} is in another upgrade`)
  const reasons = sites.flatMap(({ notes }) => notes.flatMap(({ mac, reason }) => (mac === undefined ? [] : [reason])))
  const texts = [...new Set(reasons)].slice(0, MAX_REASONS)
  throw invalidField('device_ids', `no ${unit} can be upgraded: ${texts.join('; ')}`)
}
