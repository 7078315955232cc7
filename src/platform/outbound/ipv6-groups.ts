/** Returns the eight groups of an IPv6 address that has neither a zone nor an IPv4 address in dots, as hexadecimal digits. */
export function ipv6Groups(address: string): string[] {
  const [head = '', tail] = address.split('::', 2)
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(8 - left.length - right.length, 0)
  return [...left, ...Array.from({ length: zeros }, () => '0'), ...right]
}
