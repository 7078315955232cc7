import { type Interface, type Port, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import { type Fields, fieldsOf, ipOf, listOf, prefixOf, textOf } from '../../report-values.ts'
import { countersOf } from './counters.ts'
import { withoutUndefined } from '../../../platform/records.ts'

const { interfaces: MAX, ports: MAX_PORTS, addresses: MAX_ADDRESSES, name: MAX_NAME } = telemetryLimits

/** Switches list their ports as interfaces as well; those are left out here. */
export function decodeInterfaces(state: Fields, ports: readonly Port[]): readonly Interface[] {
  const known = new Set(ports.map(({ id }) => id))
  const interfaces = listOf(state['interfaces'], MAX + MAX_PORTS).flatMap((value, index): Interface[] => {
    const one = fieldsOf(value)
    const name = textOf(one['name'], MAX_NAME) ?? textOf(one['location'], MAX_NAME) ?? `interface${index}`
    return known.has(name) ? [] : [interfaceOf(name, one)]
  })
  return [...new Map(interfaces.map((one) => [one.name, one])).values()].slice(0, MAX)
}

function interfaceOf(name: string, one: Fields): Interface {
  const [v4, v6] = [fieldsOf(one['ipv4']), fieldsOf(one['ipv6'])]
  const addresses = [...listOf(v4['addresses'], MAX_ADDRESSES), ...listOf(v6['addresses'], MAX_ADDRESSES)]
  const ips = addresses.flatMap(
    (entry) => prefixOf(typeof entry === 'string' ? entry : fieldsOf(entry)['address']) ?? [],
  )
  const dns = listOf(one['dns_servers'], MAX_ADDRESSES).flatMap((ip) => ipOf(ip) ?? [])
  return withoutUndefined({
    name,
    vlan: vlanIn(name),
    ips: [...new Set(ips)].slice(0, MAX_ADDRESSES),
    dns: dns.length === 0 ? undefined : [...new Set(dns)],
    dhcp_server: ipOf(v4['dhcp_server']),
    ...countersOf(fieldsOf(one['counters'])),
  })
}

/** Access points name interfaces like `up0v100`, where 0 means untagged; switches like `Vlan100`. */
function vlanIn(name: string): number | undefined {
  const [, digits] = /^(?:(?:up|down)\d+v|vlan)(\d{1,4})$/i.exec(name) ?? []
  const vlan = Number(digits)
  return vlan >= 1 && vlan <= 4094 ? vlan : undefined
}
