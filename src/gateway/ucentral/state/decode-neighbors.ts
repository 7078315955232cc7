import { type Neighbor, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import { type Fields, entriesOf, fieldsOf, ipOf, isPlain, listOf, macOf, textOf } from '../../report-values.ts'
import { withoutUndefined } from '../../../platform/records.ts'

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
  return withoutUndefined({
    port,
    mac: macOf(peer['mac']),
    chassis_id: textOf(peer['mac'], name),
    system_name: lldpTextOf(peer['name']),
    system_desc: lldpTextOf(peer['description']),
    // Switches call the neighbor's port `port`.
    port_id: textOf(peer['port_id'], name) ?? textOf(peer['port'], name),
    port_desc: lldpTextOf(peer['port_descr']),
    mgmt_addrs: listOf(peer['management_ips'], addresses).flatMap((ip) => ipOf(ip) ?? []),
    forwards: !isAccessPoint && (capabilities.has('bridge') || capabilities.has('router')),
  })
}

/** LLDP limits a text to 255 bytes, and searches rely on it. */
function lldpTextOf(value: unknown): string | undefined {
  const text = textOf(value, description)
  if (text === undefined || isPlain(text)) return text
  // A decoder that awaits more leaves out a character that the cut divides.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, description), { stream: true })
}
