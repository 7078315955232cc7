import { SocketAddress, isIP, isIPv4, isIPv6 } from 'node:net'

/**
 * The client in the first bytes of a connection. `address` is null if the connection is the proxy's own, such as its
 * health checks; `length` is that of the header. Source: The PROXY protocol, versions 1 and 2 (HAProxy).
 */
export type ProxyHeader =
  | { readonly kind: 'header'; readonly address: string | null; readonly length: number }
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'invalid' }

const INVALID = { kind: 'invalid' } as const
const INCOMPLETE = { kind: 'incomplete' } as const

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const V1_START = Buffer.from('PROXY ', 'latin1')
/** With its line end, by the specification. */
const V1_MAX_BYTES = 107
const V2_FIXED_BYTES = 16
/**
 * Addresses take at most 36 bytes; the rest are extension fields of proxies, such as the host name that the client
 * requested.
 */
const V2_MAX_BYTES = V2_FIXED_BYTES + 2048

/** Parses the header at the beginning of `bytes`; `incomplete` means that more bytes are needed. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsLike(bytes, SIGNATURE)) return bytes.length < V2_FIXED_BYTES ? INCOMPLETE : parseVersion2(bytes)
  if (startsLike(bytes, V1_START)) return parseVersion1(bytes)
  return INVALID
}

/** True as long as the shorter one is the beginning of the longer one. */
function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length)
  return bytes.subarray(0, length).equals(start.subarray(0, length))
}

function parseVersion1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf('\r\n')
  if (end === -1) return bytes.length < V1_MAX_BYTES ? INCOMPLETE : INVALID
  const length = end + 2
  const [, family, source = '', destination = '', sourcePort = '', destinationPort = '', ...rest] = bytes
    .toString('latin1', 0, end)
    .split(' ')
  // The remaining fields are to be ignored.
  if (family === 'UNKNOWN') return { kind: 'header', address: null, length }
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isPlainIPv6 : () => false
  const isWhole = rest.length === 0 && isPort(sourcePort) && isPort(destinationPort)
  if (!isWhole || !isAddress(source) || !isAddress(destination)) return INVALID
  return { kind: 'header', address: normalAddress(source), length }
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535
}

/** A zone is of the proxy's own machine. */
function isPlainIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%')
}

const PROXIED = 0x21
const LOCAL = 0x20

/** The number of bytes of the two addresses and ports, by family and transport. */
const addressBytes: ReadonlyMap<number, number> = new Map([
  [0x11, 12],
  [0x21, 36],
])
/** A transport or family that has no address of a network. */
const UNSPECIFIED = 0x00

function parseVersion2(bytes: Buffer): ProxyHeader {
  const [command, family] = [bytes.readUInt8(12), bytes.readUInt8(13)]
  const length = V2_FIXED_BYTES + bytes.readUInt16BE(14)
  if ((command !== PROXIED && command !== LOCAL) || length > V2_MAX_BYTES) return INVALID
  if (bytes.length < length) return INCOMPLETE
  if (command === LOCAL || family === UNSPECIFIED) return { kind: 'header', address: null, length }
  const size = addressBytes.get(family)
  if (size === undefined || length < V2_FIXED_BYTES + size) return INVALID
  const source = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + (size - 4) / 2)
  const text = source.length === 4 ? [...source].join('.') : (source.toString('hex').match(/.{4}/g) ?? []).join(':')
  return { kind: 'header', address: normalAddress(text), length }
}

/** Writes an address as sockets do, and one of IPv4 within IPv6 as IPv4. */
function normalAddress(text: string): string {
  if (isIP(text) === 4) return text
  const { address } = new SocketAddress({ address: text, family: 'ipv6' })
  return plainAddress(address)
}

/** Sockets of both families report the addresses of IPv4 within those of IPv6. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '')
}
