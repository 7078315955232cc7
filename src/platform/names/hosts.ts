import { isIP } from 'node:net'

export interface ResolvedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Returns the addresses of each name of a hosts file, in the order of its lines; names in lower case. */
export function parseHosts(text: string): ReadonlyMap<string, readonly ResolvedAddress[]> {
  const hosts = new Map<string, ResolvedAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family !== 4 && family !== 6) continue
    for (const name of names.map((each) => each.toLowerCase())) {
      const known = hosts.get(name) ?? []
      hosts.set(name, known)
      if (!known.some((each) => each.address === address)) known.push({ address, family })
    }
  }
  return hosts
}

/** Names of this machine, for which no name server is queried (RFC 6761, 6.3). */
export function findLoopback(name: string): readonly ResolvedAddress[] | undefined {
  if (name !== 'localhost' && !name.endsWith('.localhost')) return undefined
  return [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
}
