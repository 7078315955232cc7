import type { IncomingHttpHeaders } from 'node:http'

/** Another attempt may succeed: the network failed, or the server is busy. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  /** How long the server requests to wait; 0 if it does not. */
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs = 0) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** The server refuses, or is not the one that the agent trusts: another attempt would fail as well. Proves nothing about earlier bytes. */
export class RefusedError extends Error {}

export interface RetryLimits {
  /** The number of consecutive attempts that may fail. */
  readonly tries: number
  readonly firstPauseMs: number
  readonly longestPauseMs: number
}

export const defaultRetries: RetryLimits = { tries: 8, firstPauseMs: 1000, longestPauseMs: 60_000 }

/**
 * Returns the pause before the next attempt.
 * @param failures The number of attempts that have failed in a row, including this one.
 * @throws The error if it was the last attempt, and any error that is not a TransportError.
 */
export function pauseBeforeRetry(error: unknown, failures: number, limits: RetryLimits): number {
  if (!(error instanceof TransportError) || failures >= limits.tries) throw error
  const pauseMs = Math.min(limits.longestPauseMs, limits.firstPauseMs * 2 ** (failures - 1))
  return Math.max(pauseMs, error.retryAfterMs)
}

const BUSY: ReadonlySet<number> = new Set([408, 425, 429])

/** True for an answer after which another attempt may succeed. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || BUSY.has(status)
}

const MAX_RETRY_AFTER_S = 120

/** Returns the pause that the headers of an answer request; 0 if they request none. */
export function retryAfterMsOf({ 'retry-after': after }: IncomingHttpHeaders): number {
  return /^[0-9]{1,9}$/.test(after ?? '') ? Math.min(MAX_RETRY_AFTER_S, Number(after)) * 1000 : 0
}

/**
 * What can be wrong with a certificate for longer than an upload or a download waits. One that is not valid yet is not among it: the
 * clock of a machine that has just booted may be behind until it is set.
 */
const certificateFaults: ReadonlySet<string> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Node's own errors, such as those of a socket, have a code. Errors that the agent itself makes have none, and stay as they are. */
export function transportErrorOf(error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error
  const code = String(error.code)
  if (!certificateFaults.has(code)) return new TransportError(error.message || code)
  // Newer versions of Node.js append advice for its users.
  const fault = error.message.split(';', 1)[0] || code
  return new RefusedError(`The agent does not accept the server's certificate: ${fault}`)
}
