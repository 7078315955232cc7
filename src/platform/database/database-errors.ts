import pg from 'pg'
import { notFound } from '../errors.ts'

/** True if the statement waited for a lock longer than limitLockWaits() of `db.ts` allows. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '55P03'
}

/** True if the database has refused a statement. */
export function isDatabaseError(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

/** True if a row with the same key exists. */
export function isUniqueViolation(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === '23505'
}

/** True if a row that another one refers to is missing, or was about to be deleted. */
export function isForeignKeyViolation(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && error.code === '23503'
}

/**
 * PostgreSQL's classes of errors that do not concern the statement itself: connection, conflict, resources, operator,
 * system.
 */
const passingClasses = new Set(['08', '25', '40', '53', '55', '57', '58'])

/** True if the same work may succeed later: the database is unreachable, busy, full or being stopped. */
export function isPassingError(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return passingClasses.has(error.code?.slice(0, 2) ?? '')
  // A broken connection is a plain Error of pg, or has a system error code. A RangeError or TypeError has neither.
  if (!(error instanceof Error)) return false
  return error.constructor === Error || ('code' in error && /^E(?!RR_)/.test(String(error.code)))
}

/**
 * Returns the error not_found if a statement refers to an organization or a site that has just been deleted. Foreign keys to
 * these have the names that PostgreSQL gives them.
 */
export function goneOf(error: unknown): Error | undefined {
  if (!isForeignKeyViolation(error) || !/_org_id(_site_id)?_fkey$/.test(error.constraint ?? '')) return undefined
  const [, id] = /=\((?:[^()]*, )?([^(),]+)\)/.exec(error.detail ?? '') ?? []
  return notFound(id ?? '')
}
