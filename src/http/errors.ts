import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { databaseFailure } from '../platform/database/database-failure.ts'
import { AppError, type ErrorCode, TextError, shortSentence } from '../platform/errors.ts'

const statusOf: Record<ErrorCode, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 400,
  outdated: 409,
  too_large: 413,
  unsupported: 415,
  rate_limited: 429,
  unavailable: 503,
}

/**
 * Turns a thrown error into the interface's error body. An AppError has its own text and status; an error of the HTTP
 * layer (malformed JSON, wrong content type, too large) keeps its 4xx; a failure of the database or of the machine is a
 * 503; any other error is a defect and answered with 500 and the request's id. All but the first two are logged.
 */
export function replyWithError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const failure = databaseFailureOf(thrown)
  if (failure !== undefined) logDatabaseFailure(request.log, thrown, request.id)
  const fault = failure === undefined ? machineFaultOf(thrown) : undefined
  if (fault !== undefined)
    request.log.error({ requestId: request.id, err: thrown }, 'a request was refused: the system failed')
  const error = failure ?? fault ?? thrown
  if (error instanceof TextError) {
    void reply.code(statusOf[error.code]).type('application/json; charset=utf-8').send(JSON.stringify(error.message))
    return
  }
  if (error instanceof AppError) {
    if (error.code === 'unauthenticated') void reply.header('www-authenticate', 'Token')
    if (error.retryAfterS !== null) void reply.header('retry-after', error.retryAfterS)
    const { listsErrors = false } = request.routeOptions.config
    const fields = listsErrors ? listReason(error.fields) : error.fields
    void reply.code(statusOf[error.code]).send({ detail: error.message, ...fields })
    return
  }
  if (isHttpError(error)) {
    void reply.code(error.statusCode).send({ detail: shortSentence(error.message) })
    return
  }
  request.log.error({ requestId: request.id, err: error }, 'request failed')
  void reply.code(500).send({ detail: `Internal error, request ${request.id}.` })
}

/** Seconds. An operator needs longer to free a disk, and a restart of the database takes less. */
const RETRY_AFTER_S = 10

/** Returns the refusal of a request that the database could not serve; undefined for any other error. */
export function databaseFailureOf(error: unknown): AppError | undefined {
  const why = databaseFailure(error)
  if (why === undefined) return undefined
  return new AppError('unavailable', `The database ${why}. Please try again later.`, {}, RETRY_AFTER_S)
}

export function logDatabaseFailure(log: Pick<FastifyBaseLogger, 'error'>, error: unknown, requestId?: string): void {
  log.error({ requestId, err: error }, 'a request was refused: the database failed')
}

/** What only the operator can mend: the disk, the mount or the owner of the data folder, or a limit of the process. */
const machineFaults = new Set([
  'EROFS',
  'EACCES',
  'EPERM',
  'EIO',
  'ENOSPC',
  'EDQUOT',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EAGAIN',
])

function machineFaultOf(error: unknown): AppError | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  // Without a system call, it is the error of a stream or of a peer.
  if (syscall === undefined || code === undefined || !machineFaults.has(code)) return undefined
  const detail = `The server can't use its files (${code}). Please try again later.`
  return new AppError('unavailable', detail, {}, RETRY_AFTER_S)
}

/** Typed clients of such operations decode only lists as `reason`. */
function listReason({ reason, ...fields }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...fields, ...(reason !== undefined && { reason: [reason].flat() }) }
}

function isHttpError(error: unknown): error is FastifyError & { statusCode: number } {
  return (
    error instanceof Error &&
    'statusCode' in error &&
    typeof error.statusCode === 'number' &&
    error.statusCode >= 400 &&
    error.statusCode < 500
  )
}
