import {
  type Neighbor,
  type Port,
  type WiredClient,
  type WirelessClient,
  telemetryLimits,
} from '../../../devices/telemetry/telemetry.ts'
import { type Fields, entriesOf, fieldsOf, integerIn, ipOf, listOf, macOf, textOf } from '../../report-values.ts'
import { withoutUndefined } from '../../../platform/records.ts'

const { wired: MAX, ports: MAX_PORTS, interfaces: MAX_INTERFACES, name: MAX_NAME } = telemetryLimits

const VLANS = 4094

/** A switch's forwarding data about the stations behind its ports. */
export interface Forwarding {
  /** Excludes stations behind uplinks, which are not clients of this switch. */
  readonly clients: readonly WiredClient[]
  /** All of these clients, including those beyond the limit. */
  readonly clientCount: number
  readonly countByPort: ReadonlyMap<string, number>
  readonly total: number
}

/**
 * Returns the ports that lead from a switch to the rest of the network: where the default route or a neighbor that
 * forwards is. Null for an access point, which divides its ports itself; only switches report a forwarding table or a
 * list of default routes.
 */
export function uplinksOf(state: Fields, neighbors: readonly Neighbor[]): ReadonlySet<string> | null {
  const routes = state['default-gateway']
  if (state['mac-forwarding-table'] === undefined && !Array.isArray(routes)) return null
  const route = textOf(fieldsOf(listOf(routes, 1)[0])['out-port'], MAX_NAME)
  const forwarders = neighbors.filter(({ forwards }) => forwards).map(({ port }) => port)
  return new Set(route === undefined ? forwarders : [route, ...forwarders])
}

/** MACs by port and VLAN, with a member `overflow` among the ports. */
export function decodeForwarding(state: Fields, neighbors: readonly Neighbor[]): Forwarding {
  const uplinks = uplinksOf(state, neighbors) ?? new Set()
  const clients: WiredClient[] = []
  const countByPort = new Map<string, number>()
  for (const [key, vlans] of entriesOf(state['mac-forwarding-table'], MAX_PORTS + 1)) {
    const port = textOf(key, MAX_NAME)
    if (port === undefined) continue
    for (const [id, macs] of entriesOf(vlans, VLANS)) {
      const all = listOf(macs, Infinity)
      countByPort.set(port, (countByPort.get(port) ?? 0) + all.length)
      if (uplinks.has(port)) continue
      for (const value of all.slice(0, Math.max(0, MAX - clients.length))) {
        const mac = macOf(value)
        if (mac !== undefined) clients.push(withoutUndefined({ mac, port, vlan: integerIn(id, [1, VLANS]) }))
      }
    }
  }
  const countOf = (ports: readonly string[]): number =>
    ports.reduce((sum, port) => sum + (countByPort.get(port) ?? 0), 0)
  const ports = [...countByPort.keys()]
  return {
    clients,
    clientCount: countOf(ports.filter((port) => !uplinks.has(port))),
    countByPort,
    total: countOf(ports),
  }
}

/** Access points list the neighbors of each interface, with the ports on which they were seen. */
export function decodeHosts(
  state: Fields,
  { ports, wireless }: { readonly ports: readonly Port[]; readonly wireless: readonly WirelessClient[] },
): readonly WiredClient[] {
  const downlinks = new Set(ports.filter(({ uplink }) => uplink !== true).map(({ id }) => id))
  const known = new Set(wireless.map(({ mac }) => mac))
  const hosts = listOf(state['interfaces'], MAX_INTERFACES).flatMap((one) => listOf(fieldsOf(one)['clients'], MAX))
  return hosts.slice(0, MAX).flatMap((value): WiredClient[] => {
    const host = fieldsOf(value)
    const mac = macOf(host['mac'])
    const port = listOf(host['ports'], MAX_PORTS).find((one) => typeof one === 'string' && downlinks.has(one))
    if (mac === undefined || typeof port !== 'string' || known.has(mac)) return []
    return [withoutUndefined({ mac, port, ip: ipOf(listOf(host['ipv4_addresses'], 1)[0]) })]
  })
}
