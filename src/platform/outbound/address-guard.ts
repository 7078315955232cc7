import { isIP } from 'node:net'
import { addressListOf } from './address-list.ts'
import { isMetadataAddress } from './metadata-addresses.ts'

export interface AddressPolicy {
  /** Ranges of addresses that may be called although they are not public, such as `10.0.0.0/8`. */
  readonly allowCidrs: readonly string[]
  /** True for a server that only its own machine can reach: its users could call loopback anyway. */
  readonly allowLoopback: boolean
}

/** Returns true if `address`, a literal IP address, may be called. */
export type AddressGuard = (address: string) => boolean

/**
 * Addresses that are not globally reachable, by the IANA special-purpose registry, with multicast and reserved space.
 */
const blockedV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
/**
 * All global unicast addresses. The rest is blocked: mapped, NAT64, unique local, link local, multicast, unassigned.
 */
const globalV6 = ['2000::/3']
/** Exceptions within it: protocol assignments with Teredo and ORCHID, documentation, 6to4. */
const blockedV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']
const loopback = ['127.0.0.0/8', '::1/128']

/** @throws Error naming the first of `policy.allowCidrs` that is not a CIDR range. */
export function createAddressGuard(policy: AddressPolicy): AddressGuard {
  const allowed = addressListOf([...policy.allowCidrs, ...(policy.allowLoopback ? loopback : [])])
  const blocked = addressListOf([...blockedV4, ...blockedV6])
  const global = addressListOf(globalV6)
  return (address) => {
    const family = isIP(address)
    // A zone (`fe80::1%eth0`) only occurs in local addresses, and BlockList does not know it.
    if (family === 0 || address.includes('%')) return false
    const type = family === 4 ? 'ipv4' : 'ipv6'
    // No range that an operator opens includes these addresses.
    if (isMetadataAddress(address)) return false
    // BlockList also compares mapped addresses (::ffff:a.b.c.d) with the IPv4 ranges.
    if (allowed.check(address, type)) return true
    return !blocked.check(address, type) && (family === 4 || global.check(address, type))
  }
}
