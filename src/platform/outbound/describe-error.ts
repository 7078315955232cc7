/** What reasons of OpenSSL mean for people; it takes any answer that is no TLS for a wrong version. */
const tlsReasons: Readonly<Record<string, string>> = {
  'wrong version number': 'the receiver does not speak it',
  'tlsv13 alert certificate required': 'the receiver requires a client certificate',
}

/** An alert that comes after the handshake has its reason only in the message. */
const alert = /:SSL routines:[^:]*:([^:]+):/

/** Node.js appends advice for its users to the reason. */
const ADVICE = '; if the root CA is installed locally'

/** The local end of a connection that could not begin, which Node.js adds. */
const LOCAL = / - Local \([^)]*\)$/

/**
 * One line for people: messages of OpenSSL contain the places in its sources, and a failed dual-stack connect has its
 * reasons only in its parts.
 */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describeError).join('; ')
  if (!(error instanceof Error)) return String(error)
  const reason = tlsReasonOf(error)
  if (reason !== undefined) return `TLS failed: ${tlsReasons[reason] ?? reason}`
  return error.message.split(ADVICE)[0]?.replace(LOCAL, '') || error.name
}

/** Returns the reason of OpenSSL; undefined for other errors. */
export function tlsReasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const known = 'library' in error && 'reason' in error && error.library === 'SSL routines' ? error.reason : null
  return typeof known === 'string' ? known : alert.exec(error.message)?.[1]
}
