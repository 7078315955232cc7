import type { Document } from '../platform/document.ts'
import { invalidField } from '../platform/errors.ts'

const DEFAULT_OVERLAP_S = 24 * 3600

/** The longest time for which a replaced secret may stay valid. */
export const MAX_OVERLAP_S = 30 * 24 * 3600

/** Returns how long a secret that is replaced now stays valid. */
export function secretOverlapMs(doc: Document): number {
  const seconds = doc['secret_overlap_s']
  return (typeof seconds === 'number' ? seconds : DEFAULT_OVERLAP_S) * 1000
}

/**
 * Validates the fields of a webhook that say how it is delivered.
 * @throws AppError invalid naming the field.
 */
export function assertOptions(doc: Document): void {
  const { secret_overlap_s: overlap } = doc
  const isSeconds = typeof overlap === 'number' && Number.isInteger(overlap) && overlap >= 0 && overlap <= MAX_OVERLAP_S
  if (overlap !== undefined && !isSeconds)
    throw invalidField('secret_overlap_s', `must be an integer from 0 to ${MAX_OVERLAP_S}`)
}
