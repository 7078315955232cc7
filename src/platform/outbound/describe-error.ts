/** What reasons of OpenSSL mean for people; it takes any answer that is not TLS for a wrong version. */
const tlsReasons: Readonly<Record<string, string>> = {
  'wrong version number': 'the receiver does not speak it',
  'tlsv13 alert certificate required': 'the receiver requires a client certificate',
  'tlsv1 alert no application protocol': 'the receiver does not speak HTTP/1.1',
  'tlsv1 alert protocol version': 'the receiver does not speak TLS 1.2 or 1.3',
}

/** What messages of Node.js mean for people. */
const messages: Readonly<Record<string, string>> = {
  'Client network socket disconnected before secure TLS connection was established':
    'TLS failed: the receiver closed the connection',
  'read ECONNRESET': 'the receiver reset the connection',
  'write ECONNRESET': 'the receiver reset the connection',
  'write EPIPE': 'the receiver closed the connection before it had read the whole request',
}

/** The connector counts the time for TLS, too. */
const CONNECT_TIMEOUT = /^Connect Timeout Error \(attempted address(?:es)?: (.+), timeout: (\d+)ms\)$/

const NOT_TRUSTED = 'the authority that issued the certificate is not trusted'

/** What Node.js finds wrong with a certificate, by its code. */
const certificateFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for other names than that of the receiver',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: NOT_TRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NOT_TRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${NOT_TRUSTED}, or the certificates between are missing`,
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
  const fault = 'code' in error ? certificateFaults[String(error.code)] : undefined
  if (fault !== undefined) return `TLS failed: ${fault}`
  const known = messages[error.message]
  if (known !== undefined) return known
  const [, addresses, ms] = CONNECT_TIMEOUT.exec(error.message) ?? []
  if (addresses !== undefined) return `no connection to ${addresses} within ${ms} ms`
  return error.message.split(ADVICE)[0]?.replace(LOCAL, '') || error.name
}

/** Returns the reason of OpenSSL; undefined for other errors. */
export function tlsReasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const known = 'library' in error && 'reason' in error && error.library === 'SSL routines' ? error.reason : null
  return typeof known === 'string' ? known : alert.exec(error.message)?.[1]
}
