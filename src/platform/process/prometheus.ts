/**
 * A metric with the values that its labels may have: a scrape never returns more series than there are combinations.
 * Names and units follow the conventions of Prometheus.
 */
export interface MetricDeclaration<L extends string = string> {
  readonly name: string
  readonly help: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** By label; a value that is not listed counts as `other`. */
  readonly labels: Readonly<Record<L, readonly string[]>>
  /** Upper bounds in ascending order, for a histogram. */
  readonly buckets?: readonly number[]
}

export type Labels<L extends string> = Readonly<Record<L, string>>

/** Checks the declaration, and preserves the names of its labels for the compiler. */
export function metric<L extends string>(declaration: MetricDeclaration<L>): MetricDeclaration<L> {
  return declaration
}

/** The value of a gauge at the time of the scrape. */
export interface Sample<L extends string = string> {
  readonly metric: MetricDeclaration<L>
  readonly labels: Labels<L>
  readonly value: number
}

/** The counters of one process since its start. */
export interface Metrics {
  add<L extends string>(of: MetricDeclaration<L>, labels: Labels<L>, by?: number): void
  /** Adds a value to a histogram. */
  observe<L extends string>(of: MetricDeclaration<L>, labels: Labels<L>, value: number): void
  /** Returns all of it in the text format of Prometheus, with the samples. */
  encode(samples: readonly Sample[]): string
}

interface Series {
  readonly labels: Labels<string>
  /** Sum of what was added or observed. */
  sum: number
  count: number
  /** The number of values up to the bucket's bound and above the previous one. */
  readonly buckets: number[]
}

interface SeriesOfMetric {
  readonly labels: readonly string[]
  /** By the values of the labels. */
  readonly series: Map<string, Series>
}

export function createMetrics(): Metrics {
  const all = new Map<MetricDeclaration, SeriesOfMetric>()
  function seriesOf(of: MetricDeclaration, given: Labels<string>): Series {
    const known = all.get(of) ?? { labels: Object.keys(of.labels), series: new Map<string, Series>() }
    all.set(of, known)
    // A round of a large upgrade counts thousands of devices, so no object is made for each.
    let key = ''
    for (const label of known.labels) key += `${limitValue(of, label, given)}\n`
    const found = known.series.get(key)
    if (found !== undefined) return found
    const added = { labels: limitLabels(of, given), sum: 0, count: 0, buckets: (of.buckets ?? []).map(() => 0) }
    known.series.set(key, added)
    return added
  }
  return {
    add(of, labels, by = 1) {
      seriesOf(of, labels).sum += by
    },
    observe(of, labels, value) {
      const series = seriesOf(of, labels)
      series.sum += value
      series.count += 1
      const place = (of.buckets ?? []).findIndex((bound) => value <= bound)
      if (place >= 0) series.buckets[place] = (series.buckets[place] ?? 0) + 1
    },
    encode(samples) {
      const gauges = Map.groupBy(samples, ({ metric: of }) => of)
      return [
        ...[...all].map(([of, { series }]) =>
          encodeMetric(
            of,
            [...series.values()].flatMap((one) => linesOf(of, one)),
          ),
        ),
        ...[...gauges].map(([of, ofIt]) => encodeMetric(of, ofIt.map(lineOfSample))),
      ].join('')
    },
  }
}

/** The declared labels in their order. */
function limitLabels(of: MetricDeclaration, given: Labels<string>): Labels<string> {
  const entries = Object.keys(of.labels).map((label) => [label, limitValue(of, label, given)])
  return Object.fromEntries(entries) as Labels<string> // fromEntries loses the type.
}

function limitValue({ labels: declared }: MetricDeclaration, label: string, given: Labels<string>): string {
  const value = given[label] ?? ''
  return declared[label]?.includes(value) === true ? value : 'other'
}

function encodeMetric({ name, help, kind }: MetricDeclaration, lines: readonly string[]): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`
}

function linesOf({ name, kind, buckets = [] }: MetricDeclaration, series: Series): string[] {
  const { labels, sum, count, buckets: counts } = series
  if (kind !== 'histogram') return [line(name, labels, sum)]
  let upTo = 0
  const bounded = buckets.map((bound, place) => {
    upTo += counts[place] ?? 0
    return line(`${name}_bucket`, { ...labels, le: String(bound) }, upTo)
  })
  const all = line(`${name}_bucket`, { ...labels, le: '+Inf' }, count)
  return [...bounded, all, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count)]
}

function lineOfSample({ metric: of, labels, value }: Sample): string {
  return line(of.name, limitLabels(of, labels), value)
}

function line(name: string, labels: Labels<string>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}
