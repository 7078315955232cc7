import type { Schemas } from '../../api/client.ts'

export type Series = Schemas['DeviceSeries']

export interface GraphLine {
  readonly name: string
  /** One for each bucket; null where the device reported none. */
  readonly values: readonly (number | null)[]
}

export interface Graph {
  readonly title: string
  readonly lines: readonly GraphLine[]
  readonly unit: 'percent' | 'count' | 'bits'
}

/** The fields that the graphs need. */
export const graphFields = 'cpu,memory,num_clients,rx_bytes,tx_bytes'

/** Returns a graph for each value that the device has reported at least once. */
export function graphsOf({ results, interval }: Series): readonly Graph[] {
  const lineOf = (name: string, field: string): GraphLine => ({ name, values: results[field] ?? [] })
  const rateOf = (name: string, field: string): GraphLine => ({
    name,
    values: (results[field] ?? []).map((bytes) => (bytes === null ? null : (8 * bytes) / interval)),
  })
  const graphs: readonly Graph[] = [
    { title: 'Processor', lines: [lineOf('Processor', 'cpu')], unit: 'percent' },
    { title: 'Memory', lines: [lineOf('Memory', 'memory')], unit: 'percent' },
    { title: 'Clients', lines: [lineOf('Clients', 'num_clients')], unit: 'count' },
    { title: 'Traffic', lines: [rateOf('In', 'rx_bytes'), rateOf('Out', 'tx_bytes')], unit: 'bits' },
  ]
  return graphs.filter(({ lines }) => lines.some(({ values }) => values.some((value) => value !== null)))
}

const steps = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'] as const

/** Returns a value with its unit, such as "1.2 Mbit/s". */
export function graphText(value: number, unit: Graph['unit']): string {
  if (unit === 'percent') return `${Math.round(value)} %`
  if (unit === 'count') return String(Math.round(value * 10) / 10)
  const step = value < 1 ? 0 : Math.min(steps.length - 1, Math.floor(Math.log10(value) / 3))
  const scaled = value / 1000 ** step
  return `${scaled < 10 && step > 0 ? scaled.toFixed(1) : Math.round(scaled)} ${steps[step]}`
}

/** Returns what a graph shows in words, for those who don't see it. */
export function describeGraph({ title, lines, unit }: Graph): string {
  const parts = lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== null)
    if (known.length === 0) return `${name}: not reported`
    const [least, most] = [Math.min(...known), Math.max(...known)].map((value) => graphText(value, unit))
    return `${name}: ${graphText(known.at(-1) ?? 0, unit)} at the end, from ${least} to ${most}`
  })
  return `${title} in the last day. ${parts.join('. ')}`
}
