import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { type TimeRange, parseTimeRange, searchQuery } from '../../http/lists/search.ts'
import { textOf } from '../../http/texts.ts'
import { epochS } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import { BUCKET_S } from './decide-bucket.ts'
import type { SeriesPoint } from './store-series.ts'
import { keysOf } from '../../platform/records.ts'

/** Longer than the series are stored, and still a small answer. */
const MAX_RANGE_S = 7 * 24 * 3600

/** How each field is computed from a bucket. */
const fields = {
  cpu: ({ cpu }) => cpu,
  memory: ({ memory }) => memory,
  num_clients: ({ clients }) => clients,
  rx_bytes: ({ rxBytes }) => wholeOf(rxBytes),
  tx_bytes: ({ txBytes }) => wholeOf(txBytes),
  uptime: ({ uptime }) => wholeOf(uptime),
  band_24_util: ({ util24 }) => util24,
  band_5_util: ({ util5 }) => util5,
  band_6_util: ({ util6 }) => util6,
  band_24_num_clients: ({ clients24 }) => clients24,
  band_5_num_clients: ({ clients5 }) => clients5,
  band_6_num_clients: ({ clients6 }) => clients6,
} satisfies Readonly<Record<string, (point: SeriesPoint) => number | null>>

type Field = keyof typeof fields
const names = keysOf(fields)

function wholeOf(text: string | null): number | null {
  return text === null ? null : Number(text)
}

const RANGE = `the range has at most ${MAX_RANGE_S / (24 * 3600)} days`

export const SeriesQuery = Type.Object({
  start: Type.Optional(
    textOf('instant', { description: `epoch seconds, \`now\`, or an offset such as \`-1d\`; ${RANGE}` }),
  ),
  end: searchQuery.end,
  duration: Type.Optional(
    textOf('duration', { default: '1d', description: `before \`end\`, where there is no \`start\`; ${RANGE}` }),
  ),
  fields: Type.Optional(
    Type.String({ maxLength: 500, description: `some of ${names.join(', ')}, separated by commas; default: all` }),
  ),
})

/** A list of values per field, each for a bucket; null if the device reported none. */
export const SeriesReply = named(
  'DeviceSeries',
  Type.Object({
    start: Type.Integer({ description: 'epoch seconds at which the first bucket begins' }),
    end: Type.Integer({ description: 'epoch seconds at which the last bucket ends' }),
    interval: Type.Integer({ description: 'seconds of a bucket' }),
    results: Type.Record(
      Type.String(),
      Type.Array(Type.Union([Type.Number(), Type.Null()]), { maxItems: MAX_RANGE_S / BUCKET_S + 1 }),
    ),
  }),
)

export interface SeriesRequest extends TimeRange {
  readonly fields: readonly Field[]
}

/** @returns A range of whole buckets. @throws AppError invalid naming the field. */
export function parseSeries(query: Static<typeof SeriesQuery>, now: Date): SeriesRequest {
  const range = parseTimeRange(query, now)
  const startS = Math.floor(epochS(range.start) / BUCKET_S) * BUCKET_S
  const endS = Math.ceil(epochS(range.end) / BUCKET_S) * BUCKET_S
  if (endS < startS) throw invalidField('start', 'must not be after `end`')
  if (epochS(range.end) - epochS(range.start) > MAX_RANGE_S)
    throw invalidField(query.start === undefined ? 'duration' : 'start', 'the range must have at most 7 days')
  return { start: new Date(startS * 1000), end: new Date(endS * 1000), fields: parseFields(query.fields) }
}

function parseFields(text: string | undefined): readonly Field[] {
  const given = (text ?? '').split(',').flatMap((name) => name.trim() || [])
  const wrong = given.find((name) => !Object.hasOwn(fields, name))
  if (wrong !== undefined) throw invalidField('fields', `${JSON.stringify(wrong)} must be one of ${names.join(', ')}`)
  return given.length === 0 ? names : names.filter((name) => given.includes(name))
}

export function presentSeries(
  points: readonly SeriesPoint[],
  { start, end, fields: wanted }: SeriesRequest,
): Static<typeof SeriesReply> {
  const [startS, endS] = [epochS(start), epochS(end)]
  const byStart = new Map(points.map((point) => [epochS(point.createdAt), point]))
  const starts = Array.from({ length: (endS - startS) / BUCKET_S }, (_, index) => startS + index * BUCKET_S)
  const valuesOf = (field: Field) =>
    starts.map((at) => {
      const point = byStart.get(at)
      return point === undefined ? null : fields[field](point)
    })
  return {
    start: startS,
    end: endS,
    interval: BUCKET_S,
    results: Object.fromEntries(wanted.map((field) => [field, valuesOf(field)])),
  }
}
