import { ipv6Groups } from './ipv6-groups.ts'

/**
 * Returns the network that represents an address in counts of clients: a provider's customer has a whole /64 of IPv6.
 */
export function networkOf(srcIp: string): string {
  if (!srcIp.includes(':') || srcIp.includes('.')) return srcIp
  return ipv6Groups(srcIp).slice(0, 4).join(':')
}
