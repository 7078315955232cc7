import type { Counters } from '../../../devices/telemetry/telemetry.ts'
import { type Fields, counterOf } from '../../report-values.ts'
import { withoutUndefined } from '../../../platform/records.ts'

export function countersOf(counters: Fields): Counters {
  return withoutUndefined({
    rx_bytes: counterOf(counters['rx_bytes']),
    tx_bytes: counterOf(counters['tx_bytes']),
    rx_pkts: counterOf(counters['rx_packets']),
    tx_pkts: counterOf(counters['tx_packets']),
  })
}

/** Adds the counters that both have; a sum that a double can't represent is left out. */
export function addCounters(sum: Counters, more: Counters): Counters {
  const added = (name: keyof Counters): number | undefined => {
    const [a, b] = [sum[name], more[name]]
    const total = a === undefined ? b : a + (b ?? 0)
    return total !== undefined && Number.isSafeInteger(total) ? total : undefined
  }
  return withoutUndefined({
    rx_bytes: added('rx_bytes'),
    tx_bytes: added('tx_bytes'),
    rx_pkts: added('rx_pkts'),
    tx_pkts: added('tx_pkts'),
  })
}
