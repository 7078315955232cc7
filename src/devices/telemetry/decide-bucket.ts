import { MIN_INTERVAL_S, type TimedTelemetry, intervalOf } from './decide-rates.ts'
import { type Band, type Telemetry, bands } from './telemetry.ts'
import { bytesBetween } from './traffic.ts'

export const BUCKET_S = 600

/** Values whose mean over the reports of a bucket is stored. */
const means = [
  'cpu',
  'memory',
  'clients',
  'util_24',
  'util_5',
  'util_6',
  'clients_24',
  'clients_5',
  'clients_6',
] as const
export type Mean = (typeof means)[number]

/** A bucket that is not over. A document. */
export interface Bucket {
  /** Epoch seconds of its beginning. */
  readonly at: number
  readonly samples: number
  /** The sum of the values, and how many there were. */
  readonly sums: { readonly [M in Mean]?: readonly [number, number] }
  readonly rx_bytes?: number
  readonly tx_bytes?: number
  /** Seconds, at the end. */
  readonly uptime?: number
}

/** The contribution of one report to a bucket. */
export interface Sample {
  readonly values: { readonly [M in Mean]?: number }
  readonly rx_bytes?: number
  readonly tx_bytes?: number
  readonly uptime?: number
}

/** @param known The former report since the device started. @param report The new report, with its rates. */
export function sampleOf(known: TimedTelemetry | null, report: TimedTelemetry): Sample {
  const { telemetry } = report
  const { cpu_percent: cpu, memory_total: total, memory_free: free, num_clients: clients, uptime_s } = telemetry.unit
  const intervalS = known === null ? null : intervalOf(known, report)
  // The shares of a first report are those since the radios started, and soon after a report they are still its own.
  const areNew = known !== null && (intervalS === null || intervalS >= MIN_INTERVAL_S)
  const memory = total === undefined || free === undefined || total === 0 ? undefined : 100 * (1 - free / total)
  return {
    values: {
      ...(cpu !== undefined && { cpu }),
      ...(memory !== undefined && memory >= 0 && { memory }),
      ...(clients !== undefined && { clients }),
      ...Object.fromEntries(bands.flatMap((band) => ofBand(telemetry, band, areNew))),
    },
    ...bytesBetween(known, report),
    ...(uptime_s !== undefined && { uptime: Math.trunc(uptime_s) }),
  }
}

function ofBand({ radios }: Telemetry, band: Band, areNew: boolean): [Mean, number][] {
  const inBand = radios.filter((radio) => radio.band === band)
  if (inBand.length === 0) return []
  const used = inBand.flatMap(({ util_all, airtime }) => (areNew || airtime === undefined ? (util_all ?? []) : []))
  const clients: [Mean, number] = [`clients_${band}`, inBand.reduce((sum, radio) => sum + radio.num_clients, 0)]
  return used.length === 0 ? [clients] : [clients, [`util_${band}`, Math.max(...used)]]
}

/**
 * Adds a report to the bucket of its time. A bucket is over when a report of another one arrives; `closed` is then to be
 * stored.
 */
export function addSample(
  open: Bucket | null,
  sample: Sample,
  atS: number,
): { readonly open: Bucket; readonly closed: Bucket | null } {
  const at = Math.floor(atS / BUCKET_S) * BUCKET_S
  const same = open?.at === at ? open : null
  const { samples, sums, rx_bytes, tx_bytes, uptime } = same ?? { samples: 0, sums: {} }
  const added = means.flatMap((mean) => {
    const value = sample.values[mean]
    const [sum, count] = sums[mean] ?? [0, 0]
    return value === undefined ? (count === 0 ? [] : [[mean, [sum, count]]]) : [[mean, [sum + value, count + 1]]]
  })
  return {
    open: {
      at,
      samples: samples + 1,
      sums: Object.fromEntries(added),
      ...sumOf('rx_bytes', rx_bytes, sample.rx_bytes),
      ...sumOf('tx_bytes', tx_bytes, sample.tx_bytes),
      ...((sample.uptime ?? uptime) !== undefined && { uptime: sample.uptime ?? uptime }),
    } as Bucket,
    closed: same === null ? open : null,
  }
}

function sumOf(name: string, sum: number | undefined, more: number | undefined): Record<string, number> {
  if (sum === undefined && more === undefined) return {}
  return { [name]: Math.min((sum ?? 0) + (more ?? 0), Number.MAX_SAFE_INTEGER) }
}

/** Returns the mean with one decimal; null if no report had the value. */
export function meanOf({ sums }: Bucket, mean: Mean): number | null {
  const [sum, count] = sums[mean] ?? [0, 0]
  return count === 0 ? null : Math.round((sum / count) * 10) / 10
}
