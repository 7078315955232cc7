/** The delivery whose request had the headers. */
export interface Recorded {
  readonly messageId: string
  readonly createdAt: Date
}

/**
 * Returns the headers that nearly every request has. Records omit them, as they would be a third of it. A request may have
 * others by now, but records of all releases depend on these: never change them.
 */
function usualHeaders(recorded: Recorded): Readonly<Record<string, string>> {
  return {
    'User-Agent': 'Signalbox-Webhooks/1',
    'Content-Type': 'application/json',
    'Accept-Encoding': 'identity',
    ...identityOf(recorded),
  }
}

function identityOf({ messageId, createdAt }: Recorded): Readonly<Record<string, string>> {
  return { 'webhook-id': messageId, 'webhook-timestamp': String(Math.floor(createdAt.getTime() / 1000)) }
}

/** The headers of a request, as its record has them. */
export interface ReducedHeaders {
  /** Those that differ from the usual ones; null for a usual one that is missing. */
  readonly others: Readonly<Record<string, string | null>>
  /** The signatures; null if they are among the others. */
  readonly signatures: Buffer | null
}

export function reduceHeaders(headers: Readonly<Record<string, string>>, recorded: Recorded): ReducedHeaders {
  const usual = usualHeaders(recorded)
  const signatures = encodeSignatures(headers)
  const others: Record<string, string | null> = {}
  for (const [name, value] of Object.entries(headers)) {
    const isEncoded = signatures !== null && signatureNames.has(name)
    if (!isEncoded && usual[name] !== value) others[name] = value
  }
  for (const name of Object.keys(usual)) if (!(name in headers)) others[name] = null
  return { others, signatures }
}

/** ReducedHeaders with the others as JSON text. */
export interface HeadersOfRecord {
  readonly others: string
  readonly signatures: Buffer | null
}

/**
 * Returns a function that reduces the headers of requests which have `common` in common. Nearly all have only the identity of
 * their message besides, and its signatures.
 */
export function createReducer(
  common: Readonly<Record<string, string>>,
): (own: Readonly<Record<string, string>>, recorded: Recorded) => HeadersOfRecord {
  const none = { messageId: '', createdAt: new Date(0) }
  const othersOfCommon = JSON.stringify(reduceHeaders({ ...common, ...identityOf(none) }, none).others)
  return (own, recorded) => {
    const signatures = encodeSignatures(own)
    if (hasOnlyIdentity(own, recorded, signatures !== null)) return { others: othersOfCommon, signatures }
    const reduced = reduceHeaders({ ...common, ...own }, recorded)
    return { others: JSON.stringify(reduced.others), signatures: reduced.signatures }
  }
}

function hasOnlyIdentity(
  own: Readonly<Record<string, string>>,
  recorded: Recorded,
  areSignaturesEncoded: boolean,
): boolean {
  const identity = identityOf(recorded)
  for (const name in own) {
    const isEncoded = areSignaturesEncoded && signatureNames.has(name)
    if (!isEncoded && own[name] !== identity[name]) return false
  }
  return own['webhook-id'] !== undefined && own['webhook-timestamp'] !== undefined
}

/**
 * Returns the headers of a request without credentials for the receiver, which custom headers often are: everyone with read
 * access sees the record.
 */
export function maskHeaders(
  headers: Readonly<Record<string, string>>,
  secretHeaders: ReadonlySet<string>,
): Record<string, string> {
  const masked: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    masked[name] = secretHeaders.has(name.toLowerCase()) ? '***' : value
  return masked
}

/** Reverses reduceHeaders(). */
export function restoreHeaders({ others, signatures }: ReducedHeaders, recorded: Recorded): Record<string, string> {
  const encoded = signatures === null ? {} : decodeSignatures(signatures)
  const all = Object.entries({ ...usualHeaders(recorded), ...encoded, ...others })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== null))
}

const [STANDARD, SHA256, SHA1] = ['webhook-signature', 'X-Mist-Signature-v2', 'X-Mist-Signature'] as const
const signatureNames: ReadonlySet<string> = new Set([STANDARD, SHA256, SHA1])
const VERSION = 'v1,'
const [SHA256_BYTES, SHA1_BYTES] = [32, 20]

/** What decodeSignatures() returns. The last character before `=` encodes four bits. */
const STANDARD_FORM = /^v1,[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/
const [SHA256_FORM, SHA1_FORM] = [/^[0-9a-f]{64}$/, /^[0-9a-f]{40}$/]

/** Returns the bytes of the signatures by a single secret, in the order above; null unless there are exactly these. */
function encodeSignatures(headers: Readonly<Record<string, string>>): Buffer | null {
  const [standard, sha256, sha1] = [headers[STANDARD], headers[SHA256], headers[SHA1]]
  if (standard === undefined || sha256 === undefined || sha1 === undefined) return null
  if (!STANDARD_FORM.test(standard) || !SHA256_FORM.test(sha256) || !SHA1_FORM.test(sha1)) return null
  const bytes = Buffer.allocUnsafe(SHA256_BYTES + SHA256_BYTES + SHA1_BYTES)
  bytes.write(standard.slice(VERSION.length), 0, SHA256_BYTES, 'base64')
  bytes.write(sha256, SHA256_BYTES, SHA256_BYTES, 'hex')
  bytes.write(sha1, SHA256_BYTES + SHA256_BYTES, SHA1_BYTES, 'hex')
  return bytes
}

function decodeSignatures(bytes: Buffer): Record<string, string> {
  const sha1From = SHA256_BYTES + SHA256_BYTES
  return {
    [STANDARD]: VERSION + bytes.toString('base64', 0, SHA256_BYTES),
    [SHA256]: bytes.toString('hex', SHA256_BYTES, sha1From),
    [SHA1]: bytes.toString('hex', sha1From),
  }
}
