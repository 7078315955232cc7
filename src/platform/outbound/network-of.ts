/**
 * Returns the network that represents an address in counts of clients: a provider's customer has a whole /64 of IPv6.
 */
export function networkOf(srcIp: string): string {
  if (!srcIp.includes(':') || srcIp.includes('.')) return srcIp
  const [head = '', tail] = srcIp.split('::', 2)
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(8 - left.length - right.length, 0)
  return [...left, ...Array.from({ length: zeros }, () => '0'), ...right].slice(0, 4).join(':')
}
