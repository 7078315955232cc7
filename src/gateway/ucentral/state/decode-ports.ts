import { type Neighbor, type Port, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import {
  type Fields,
  counterOf,
  entriesOf,
  fieldsOf,
  integerIn,
  listOf,
  numberIn,
  textOf,
} from '../../report-values.ts'
import { countersOf } from './counters.ts'
import { type Forwarding, uplinksOf } from './decode-wired.ts'
import { withoutUndefined } from '../../../platform/records.ts'

const { ports: MAX, interfaces: MAX_INTERFACES, name: MAX_NAME } = telemetryLimits

/** Mbit/s. */
const SPEED = [1, 1_000_000] as const
/** A port gives at most 90 W, but some count milliwatts. */
const POWER_MW = [0, 200_000] as const

export interface PortContext {
  readonly neighbors: readonly Neighbor[]
  readonly forwarding: Forwarding
}

/** Access points divide their ports into `upstream` and `downstream`. Switches list all of them as `upstream`. */
export function decodePorts(state: Fields, { neighbors, forwarding }: PortContext): readonly Port[] {
  const uplinks = uplinksOf(state, neighbors)
  const modules = transceiversOf(state)
  const supplies = suppliesOf(state)
  const ports = entriesOf(state['link-state'], 8).flatMap(([side, links]) =>
    entriesOf(links, MAX).flatMap(([key, link]): Port[] => {
      const id = textOf(key, MAX_NAME)
      if (id === undefined) return []
      const isUplink = uplinks === null ? side === 'upstream' : uplinks.has(id)
      const port = portOf(id, fieldsOf(link))
      const macs = forwarding.countByPort.get(id)
      return [
        {
          ...port,
          ...supplies.get(id),
          ...modules.get(id),
          ...(isUplink && { uplink: true as const }),
          ...(macs !== undefined && { mac_count: macs }),
        },
      ]
    }),
  )
  return [...new Map(ports.map((port) => [port.id, port])).values()].slice(0, MAX)
}

function portOf(id: string, link: Fields): Port {
  const up = upOf(link['carrier'])
  const counters = fieldsOf(link['counters'])
  const duplex = link['duplex']
  const poe = fieldsOf(link['poe'])
  const milliwatts = numberIn(poe['output-power'], POWER_MW)
  return withoutUndefined({
    id,
    up,
    // A port without a link keeps its last speed or reports -1.
    speed: up === false ? undefined : integerIn(link['speed'], SPEED),
    full_duplex: up !== false && (duplex === 'full' || duplex === 'half') ? duplex === 'full' : undefined,
    ...countersOf(counters),
    // Access points send `rx_errors`, switches `rx_error`.
    rx_errors: counterOf(counters['rx_errors'] ?? counters['rx_error']),
    tx_errors: counterOf(counters['tx_errors'] ?? counters['tx_error']),
    poe_on: milliwatts === undefined ? undefined : milliwatts > 0,
    power_draw: milliwatts === undefined ? undefined : milliwatts / 1000,
  })
}

/** Access points write 0 and 1, switches false and true. */
function upOf(carrier: unknown): boolean | undefined {
  if (typeof carrier === 'boolean') return carrier
  const number = integerIn(carrier, [0, 1])
  return number === undefined ? undefined : number === 1
}

/** The reports of access points about their powered ports, by port. */
function suppliesOf(state: Fields): ReadonlyMap<string, Pick<Port, 'poe_on' | 'power_draw'>> {
  const ports = listOf(fieldsOf(state['poe'])['ports'], MAX).map(fieldsOf)
  return new Map(
    ports.flatMap(({ id, consumption }) => {
      const number = typeof id === 'number' ? String(id) : textOf(id, MAX_NAME)
      const watts = numberIn(consumption, [0, 200])
      // They number the ports that link-state calls LAN1, LAN2, ...
      return number === undefined
        ? []
        : [[`LAN${number}`, withoutUndefined({ poe_on: watts !== undefined && watts > 0, power_draw: watts })]]
    }),
  )
}

/** Switches report the module of a port in the interface of the same name. */
function transceiversOf(
  state: Fields,
): ReadonlyMap<string, Pick<Port, 'xcvr_model' | 'xcvr_part_number' | 'xcvr_serial'>> {
  const interfaces = listOf(state['interfaces'], MAX + MAX_INTERFACES).map(fieldsOf)
  return new Map(
    interfaces.flatMap(({ name, 'transceiver-info': info }) => {
      const port = textOf(name, MAX_NAME)
      if (port === undefined || info === undefined) return []
      const { 'form-factor': form, 'part-number': part, 'serial-number': serial } = fieldsOf(info)
      const module = withoutUndefined({
        xcvr_model: textOf(form, MAX_NAME),
        xcvr_part_number: textOf(part, MAX_NAME),
        xcvr_serial: textOf(serial, MAX_NAME),
      })
      return [[port, module]]
    }),
  )
}
