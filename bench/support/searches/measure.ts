import type { Signalbox } from '../signalbox.ts'

export const ROUNDS = 400
const WARM_UP = 40
/** Slow searches are repeated less often, because dozens of them with all rounds would take many minutes. */
const ROUNDS_MS = 1000
const WARM_UP_MS = 200
const FEWEST_ROUNDS = 10

/** The limit for 99 of 100 answers to a search. */
const LIMIT_MS = 25

/** Paths by the names of their figures, in classes that are judged together. */
export type Searches = Readonly<Record<string, Readonly<Record<string, string>>>>

interface Times {
  readonly p50_ms: number
  readonly p99_ms: number
}

/**
 * Measures from the first byte of each request to the last byte of the answer, one at a time on an open connection,
 * which is slightly more than the time of the server.
 * @param rounds The most requests of each search.
 */
export async function measureSearches(
  signalbox: Signalbox,
  searches: Searches,
  rounds = ROUNDS,
): Promise<Record<string, unknown>> {
  const figures: Record<string, Times> = {}
  const classes: Record<string, unknown> = {}
  for (const [kind, paths] of Object.entries(searches)) {
    const measured: Record<string, Times> = {}
    for (const [name, path] of Object.entries(paths)) measured[name] = await measure(signalbox, path, rounds)
    classes[kind] = judge(measured)
    Object.assign(figures, measured)
  }
  return { ...figures, limit_ms: LIMIT_MS, classes }
}

/** Returns the number of searches within the limit at p99, the slowest of them, and the names of the others. */
function judge(measured: Readonly<Record<string, Times>>): Record<string, unknown> {
  const times = Object.values(measured)
  const over = Object.entries(measured).filter(([, { p99_ms }]) => p99_ms >= LIMIT_MS)
  return {
    searches: times.length,
    within_limit: times.length - over.length,
    worst_p50_ms: Math.max(...times.map(({ p50_ms }) => p50_ms)),
    worst_p99_ms: Math.max(...times.map(({ p99_ms }) => p99_ms)),
    over_limit: over.map(([name]) => name),
  }
}

async function measure({ url, authorization }: Signalbox, path: string, rounds: number): Promise<Times> {
  async function request(): Promise<number> {
    const start = performance.now()
    const answer = await fetch(url + path, { headers: { authorization } })
    const body = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${body.slice(0, 200)}`)
    return performance.now() - start
  }
  await repeat(request, WARM_UP, WARM_UP_MS)
  const took = (await repeat(request, rounds, ROUNDS_MS)).toSorted((a, b) => a - b)
  const at = (share: number): number => Math.round((took[Math.ceil(took.length * share) - 1] ?? Number.NaN) * 10) / 10
  return { p50_ms: at(0.5), p99_ms: at(0.99) }
}

/** Returns the times of as many requests as fit into `withinMs`: at least {@link FEWEST_ROUNDS}, at most `rounds`. */
async function repeat(request: () => Promise<number>, rounds: number, withinMs: number): Promise<number[]> {
  const took: number[] = []
  const endMs = performance.now() + withinMs
  while (took.length < rounds && (took.length < FEWEST_ROUNDS || performance.now() < endMs)) took.push(await request())
  return took
}
