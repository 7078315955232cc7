import pg from 'pg'

/** PostgreSQL's codes of errors that concern its state and not the statement. Sources: PostgreSQL, appendix A. */
const causes: readonly (readonly [code: RegExp, why: string])[] = [
  [/^53100$/, 'has no disk space left'],
  [/^53200$/, 'has too little memory'],
  [/^53300$/, 'has too many connections'],
  [/^53/, 'has too few resources'],
  [/^57P0[123]$/, 'is being stopped or started'],
  [/^25006$/, 'accepts no changes'],
  [/^(?:08|57P05$|25P03$)/, 'has closed the connection'],
  [/^(?:40|55P03$|57014$)/, 'is too busy'],
  [/^58/, 'has an error of its system'],
]

/** Errors of the driver and its pool, which have no code. */
const brokenConnection =
  /^(?:Connection terminated|Client (?:has encountered a connection error|was closed)|timeout (?:expired|exceeded)|Query read timeout)/

const brokenNetwork = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'])

/**
 * Returns why the database failed, as the rest of a sentence about it; undefined for an error that would come again in a
 * healthy database. isPassingError() also counts any plain Error, which is right for work that is tried again.
 */
export function databaseFailure(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError) return causes.find(([code]) => code.test(error.code ?? ''))?.[1]
  if (!(error instanceof Error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall === 'connect' || syscall === 'getaddrinfo') return 'does not answer'
  // The body of a client that has left ends with such a code as well, but without a system call.
  const isBroken = syscall !== undefined && brokenNetwork.has(code ?? '')
  return isBroken || brokenConnection.test(error.message) ? 'does not answer' : undefined
}
