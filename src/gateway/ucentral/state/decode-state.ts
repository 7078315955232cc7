import { type Telemetry, type Unit, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import { type Fields, counterOf, fieldsOf, integerIn, ipOf, listOf, numberIn } from '../../report-values.ts'
import { decodeInterfaces } from './decode-interfaces.ts'
import { decodeNeighbors } from './decode-neighbors.ts'
import { decodePorts } from './decode-ports.ts'
import { decodeRadios } from './decode-radios.ts'
import { decodeScan } from './decode-scan.ts'
import { decodeForwarding, decodeHosts } from './decode-wired.ts'
import { decodeCells } from './decode-wireless.ts'
import { withoutUndefined } from '../../../platform/records.ts'

/** A century: the time of the boot must be a date that can be stored. */
const UPTIME_S = [0, 3.2e9] as const
const PERCENT = [0, 100] as const
const CELSIUS = [-60, 200] as const
/** Watts of the whole device. */
const POE_W = [0, 100_000] as const
const LOAD = [0, 10_000] as const

/**
 * Decodes the `state` of access points and of OLS switches, whatever it contains: parts with a wrong shape count as not
 * reported, and lists are truncated to telemetryLimits. Sources: wlan-ucentral-schema, `state/*.yml` and
 * `system/state/*.uc`; ols-ucentral-client, `proto.c`.
 */
export function decodeState(value: unknown): Telemetry {
  const state = fieldsOf(value)
  const neighbors = decodeNeighbors(state)
  const forwarding = decodeForwarding(state, neighbors)
  const ports = decodePorts(state, { neighbors, forwarding })
  const { radios, cells } = decodeRadios(state)
  const { wireless, total } = decodeCells(cells, state)
  const hosts = decodeHosts(state, { ports, wireless })
  return {
    unit: {
      ...decodeUnit(state),
      ...(radios.length > 0 && { num_clients: total, num_wlans: new Set(cells.map(({ ssid }) => ssid)).size }),
      ...(forwarding.total > 0 && { num_macs: forwarding.total, num_wired: forwarding.clientCount }),
    },
    radios,
    ports,
    interfaces: decodeInterfaces(state, ports),
    neighbors,
    ...decodeScan(state['scan']),
    wireless,
    wired: [...forwarding.clients, ...hosts].slice(0, telemetryLimits.wired),
  }
}

function decodeUnit(state: Fields): Unit {
  const unit = fieldsOf(state['unit'])
  const memory = fieldsOf(unit['memory'])
  const poe = fieldsOf(unit['poe'])
  const loads = listOf(unit['load'], 3).map((load) => numberIn(load, LOAD))
  const [route] = listOf(state['default-gateway'], 1)
  return withoutUndefined({
    uptime_s: numberIn(unit['uptime'], UPTIME_S),
    // The first one is that of all processors together.
    cpu_percent: numberIn(listOf(unit['cpu_load'], 1)[0], PERCENT),
    load_avg: loads.every((load) => load !== undefined) && loads.length > 0 ? loads : undefined,
    memory_total: counterOf(memory['total']),
    memory_free: counterOf(memory['free']),
    // The average and the highest one.
    temperature: integerIn(listOf(unit['temperature'], 1)[0], CELSIUS),
    poe_budget: numberIn(poe['max-power-budget'], POE_W),
    poe_draw: numberIn(poe['power-consumed'], POE_W) ?? numberIn(fieldsOf(state['poe'])['consumption'], POE_W),
    gateway: ipOf(fieldsOf(route)['gw-ip']),
  })
}
