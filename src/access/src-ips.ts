import { BlockList, isIP } from 'node:net'

/** True for an IP address or a range such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [network = '', bits, ...rest] = text.split('/')
  const family = network.includes('%') ? 0 : isIP(network)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** True if `address` lies in one of `ranges`. */
export type AddressCheck = (ranges: readonly string[], address: string) => boolean

const REMEMBER_AT_MOST = 1000

/** Returns a check that caches its lists: a token brings the same ranges with each request. */
export function createAddressCheck(): AddressCheck {
  const lists = new Map<string, BlockList>()
  return (ranges, address) => {
    const key = ranges.join()
    let list = lists.get(key)
    if (list === undefined) {
      if (lists.size >= REMEMBER_AT_MOST) lists.clear()
      list = listOf(ranges)
      lists.set(key, list)
    }
    const plain = withoutZone(address)
    // BlockList compares mapped addresses (::ffff:a.b.c.d), which dual-stack sockets report, with IPv4 ranges too.
    return list.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6')
  }
}

/** @param ranges Each passes isAddressRange(). */
function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/')
    const family = isIP(network) === 4 ? 'ipv4' : 'ipv6'
    if (bits === undefined) list.addAddress(network, family)
    else list.addSubnet(network, Number(bits), family)
  }
  return list
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? address
}
