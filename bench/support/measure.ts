import type { Signalbox } from './signalbox.ts'

export const ROUNDS = 400
const WARM_UP = 40

/**
 * Measures from the first byte of each request to the last byte of the answer, one at a time on an open connection,
 * which is slightly more than the time of the server.
 * @param searches Paths by the names of their figures.
 */
export async function measureSearches(
  signalbox: Signalbox,
  searches: Readonly<Record<string, string>>,
  rounds = ROUNDS,
): Promise<Record<string, unknown>> {
  const figures: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(searches)) figures[name] = await measure(signalbox, path, rounds)
  return figures
}

async function measure(
  { url, authorization }: Signalbox,
  path: string,
  rounds: number,
): Promise<Record<string, number>> {
  const took: number[] = []
  for (let round = -WARM_UP; round < rounds; round += 1) {
    const start = performance.now()
    const answer = await fetch(url + path, { headers: { authorization } })
    const body = await answer.text()
    if (round >= 0) took.push(performance.now() - start)
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${body.slice(0, 200)}`)
  }
  took.sort((a, b) => a - b)
  const at = (share: number): number => Math.round((took[Math.ceil(took.length * share) - 1] ?? Number.NaN) * 10) / 10
  return { p50_ms: at(0.5), p99_ms: at(0.99) }
}
