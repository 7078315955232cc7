import { type Neighbor, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import { type Fields, entriesOf, fieldsOf, ipOf, listOf, macOf, present, textOf } from '../../report-values.ts'

const { neighbors: MAX, ports: MAX_PORTS, addresses, name, description } = telemetryLimits

/** Peers by the kind of port (`upstream`, `downstream`) and by port. */
export function decodeNeighbors(state: Fields): readonly Neighbor[] {
  const heard = entriesOf(state['lldp-peers'], 8).flatMap(([, ports]) =>
    entriesOf(ports, MAX_PORTS).flatMap(([key, peers]) => {
      const port = textOf(key, name)
      return port === undefined ? [] : listOf(peers, MAX).map((peer) => ({ port, peer: fieldsOf(peer) }))
    }),
  )
  return heard.slice(0, MAX).map(({ port, peer }) => neighborOf(port, peer))
}

function neighborOf(port: string, peer: Fields): Neighbor {
  const capabilities = new Set(listOf(peer['capability'], 16).map((one) => textOf(one, name)?.toLowerCase()))
  const isAccessPoint = capabilities.has('wlan')
  return present({
    port,
    mac: macOf(peer['mac']),
    chassis_id: textOf(peer['mac'], name),
    system_name: textOf(peer['name'], description),
    system_desc: textOf(peer['description'], description),
    // Switches call the neighbor's port `port`.
    port_id: textOf(peer['port_id'], name) ?? textOf(peer['port'], name),
    port_desc: textOf(peer['port_descr'], description),
    mgmt_addrs: listOf(peer['management_ips'], addresses).flatMap((ip) => ipOf(ip) ?? []),
    forwards: !isAccessPoint && (capabilities.has('bridge') || capabilities.has('router')),
  })
}
