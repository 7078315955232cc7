/** Figures of a list of durations in ms. */
export interface Times {
  readonly p50_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

/** Rounds to a tenth; 0 without a duration. */
export function timesOf(values: readonly number[]): Times {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number): number => {
    const index = Math.min(Math.max(Math.ceil(sorted.length * share) - 1, 0), sorted.length - 1)
    return Math.round(10 * (sorted[index] ?? 0)) / 10
  }
  return { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) }
}

/** The tenant's observations during a period; durations in ms. */
export interface Observed {
  /** From the time at which a call was due to the end of its answer. */
  readonly calls: readonly number[]
  /** From the beginning of a change to the arrival of its event at the receiver. */
  readonly deliveries: readonly number[]
  /** From the beginning of the connection of a device to the first call of the gateway. */
  readonly joins: readonly number[]
  readonly errors: readonly string[]
  /** The most that the server process had, and with the processes that it had started, except PostgreSQL. */
  readonly maxKb: number
  readonly maxWithChildrenKb: number
}

export function joinObserved(all: readonly Observed[]): Observed {
  return {
    calls: all.flatMap(({ calls }) => calls),
    deliveries: all.flatMap(({ deliveries }) => deliveries),
    joins: all.flatMap(({ joins }) => joins),
    errors: all.flatMap(({ errors }) => errors),
    maxKb: Math.max(0, ...all.map(({ maxKb }) => maxKb)),
    maxWithChildrenKb: Math.max(0, ...all.map(({ maxWithChildrenKb }) => maxWithChildrenKb)),
  }
}

export const mbOf = (kb: number): number => Math.round(kb / 1024)

/** The limits that the tenant may rely on while others attack. */
export interface Demands {
  readonly p99Ms: number
  readonly memoryMb: number
}

/** Returns a sentence for each defect. */
export function judge(
  { calls, errors, maxKb }: Observed,
  report: Readonly<Record<string, Readonly<Record<string, number>>>>,
  { p99Ms, memoryMb }: Demands,
): string[] {
  const { p99_ms } = timesOf(calls)
  const outcomes = Object.entries(report)
  return [
    ...new Set(errors),
    ...(p99_ms > p99Ms ? [`the p99 of the tenant is ${p99_ms} ms, more than ${p99Ms}`] : []),
    ...(mbOf(maxKb) > memoryMb ? [`the server took ${mbOf(maxKb)} MB, more than ${memoryMb}`] : []),
    ...outcomes.flatMap(([name, { 500: times = 0 }]) => (times > 0 ? [`${name} got ${times} times a 500`] : [])),
    ...outcomes.flatMap(([name, counts]) => (Object.keys(counts).length === 0 ? [`${name} did nothing`] : [])),
  ]
}
