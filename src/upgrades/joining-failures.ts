import { AppError } from '../platform/errors.ts'

/** Returns the note about a device or an edge appliance that an upgrade can't take in. What else failed is in the log. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof AppError ? error.message : 'an internal error'
  return `could not be taken in, which is tried again: ${cause}`
}
