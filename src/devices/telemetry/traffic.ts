import { increaseOf, intervalOf, matched, type TimedTelemetry } from './decide-rates.ts'
import type { Counters, Rates, Telemetry } from './telemetry.ts'

type Counted = Pick<Telemetry, 'radios' | 'ports' | 'interfaces'>
type Counting = Counters & Rates & { readonly key: string }

/**
 * Returns the ports or interfaces whose sums are the counters of the whole device: the uplinks of an access point, all
 * ports of other devices, or, if no port has counters, the first interface that has.
 */
function countingOf({ radios, ports, interfaces }: Counted): readonly Counting[] {
  const counting = ports.filter(
    ({ uplink, rx_bytes }) => rx_bytes !== undefined && (radios.length === 0 || uplink === true),
  )
  if (counting.length > 0) return counting.map((port) => Object.assign({ key: port.id }, port))
  const first = interfaces.find(({ rx_bytes }) => rx_bytes !== undefined)
  return first === undefined ? [] : [{ key: first.name, ...first }]
}

const totals = ['rx_bytes', 'tx_bytes', 'rx_pkts', 'tx_pkts', 'rx_bps', 'tx_bps'] as const

/** The traffic of the whole device. */
export function trafficOf(telemetry: Counted): Counters & Rates {
  const counting = countingOf(telemetry)
  const known = totals.flatMap((name) => {
    const values = counting.flatMap((one) => one[name] ?? [])
    const sum = values.reduce((all, value) => all + value, 0)
    return values.length === 0 || !Number.isSafeInteger(sum) ? [] : [[name, sum] as const]
  })
  return Object.fromEntries(known)
}

/** The bytes between two reports; nothing across a restart or a long gap. */
export function bytesBetween(
  known: TimedTelemetry | null,
  reported: TimedTelemetry,
): { readonly rx_bytes?: number; readonly tx_bytes?: number } {
  if (known === null || intervalOf(known, reported) === null) return {}
  const pairs = matched(countingOf(reported.telemetry), countingOf(known.telemetry), ({ key }) => key)
  const sumOf = (name: 'rx_bytes' | 'tx_bytes'): number | undefined => {
    const increases = pairs.flatMap(([now, then]) => increaseOf(then?.[name], now[name]) ?? [])
    return increases.length === 0 ? undefined : increases.reduce((all, one) => all + one, 0)
  }
  const [rx, tx] = [sumOf('rx_bytes'), sumOf('tx_bytes')]
  return { ...(rx !== undefined && { rx_bytes: rx }), ...(tx !== undefined && { tx_bytes: tx }) }
}
