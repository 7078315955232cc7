import { type BlockList, isIP } from 'node:net'
import { addressListOf, hasAddress } from '../../platform/outbound/address-list.ts'

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

/** Returns a check that caches its lists: a token brings the same ranges with each request. Each passes isAddressRange(). */
export function createAddressCheck(): AddressCheck {
  const lists = new Map<string, BlockList>()
  return (ranges, address) => {
    const key = ranges.join()
    let list = lists.get(key)
    if (list === undefined) {
      if (lists.size >= REMEMBER_AT_MOST) lists.clear()
      list = addressListOf(ranges)
      lists.set(key, list)
    }
    return hasAddress(list, address)
  }
}
