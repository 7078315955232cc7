import { BlockList, isIP } from 'node:net'

/**
 * Returns a list that checks addresses of both families.
 *
 * @param ranges Addresses, or ranges such as `10.0.0.0/8`.
 * @throws Error naming the first that is neither.
 */
export function addressListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/', 2)
    const version = isIP(network)
    const max = version === 4 ? 32 : 128
    if (version === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= max)))
      throw new Error(`${range} is not an address range such as 10.0.0.0/8`)
    list.addSubnet(network, Number(bits ?? max), version === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/** True if the list has the address, which may have a zone. One of IPv4 within IPv6 is compared with the ranges of IPv4, too. */
export function hasAddress(list: BlockList, address: string): boolean {
  const plain = address.split('%', 1)[0] ?? address
  return list.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6')
}
