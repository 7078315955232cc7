import { isIPv4 } from 'node:net'
import { addressListOf } from './address-list.ts'
import { ipv6Groups } from './ipv6-groups.ts'

/** Clouds hand out credentials here to any caller. */
const metadata = addressListOf([
  // Most clouds.
  '169.254.169.254',
  // Amazon: containers, pods, and both by IPv6.
  '169.254.170.2',
  '169.254.170.23',
  'fd00:ec2::254',
  'fd00:ec2::23',
  // Google by IPv6.
  'fd20:ce::254',
  // Akamai by IPv6.
  'fd00:a9fe:a9fe::1',
  // Scaleway.
  '169.254.42.42',
  'fd00:42::42',
  // Tencent.
  '169.254.0.23',
  // Alibaba.
  '100.100.100.200',
  // Azure.
  '168.63.129.16',
  // Oracle.
  '192.0.0.192',
])

/** A form of IPv6 addresses that lead to an IPv4 address in them. */
interface Embedding {
  /** How the bytes of the address begin. */
  readonly prefix: readonly number[]
  /** The positions of the bytes of the IPv4 address. */
  readonly at: readonly [number, number, number, number]
}

const localTranslation = [0x00, 0x64, 0xff, 0x9b, 0x00, 0x01]
const embeddings: readonly Embedding[] = [
  // Mapped, compatible, translated by 64:ff9b::/96 or by a network's own prefix, and metadata services such as fd00:c1::a9fe:a9fe.
  { prefix: [], at: [12, 13, 14, 15] },
  // 6to4. RFC 3056.
  { prefix: [0x20, 0x02], at: [2, 3, 4, 5] },
  // A prefix of 48, 56 or 64 bits for translation within 64:ff9b:1::/48. RFC 6052, 2.2, and RFC 8215.
  { prefix: localTranslation, at: [6, 7, 9, 10] },
  { prefix: localTranslation, at: [7, 9, 10, 11] },
  { prefix: localTranslation, at: [9, 10, 11, 12] },
]

/** True if a valid address without a zone is that of a metadata service, or leads to one. */
export function isMetadataAddress(address: string): boolean {
  if (isIPv4(address)) return metadata.check(address)
  return metadata.check(address, 'ipv6') || embeddedAddresses(address).some((embedded) => metadata.check(embedded))
}

function embeddedAddresses(address: string): string[] {
  // URL writes every address in groups, without an IPv4 address in dots.
  const groups = ipv6Groups(new URL(`http://[${address}]`).hostname.slice(1, -1))
  const bytes = groups.map((group) => Number.parseInt(group, 16)).flatMap((group) => [group >> 8, group & 0xff])
  return embeddings
    .filter(({ prefix }) => prefix.every((byte, index) => bytes[index] === byte))
    .map(({ at }) => at.map((position) => bytes[position]).join('.'))
}
