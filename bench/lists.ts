import { DEVICES, SITES, fillOrg } from './support/filled-org.ts'
import { searchesOf } from './support/searches.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

const ROUNDS = 400
const WARM_UP = 40

/** Measures how long the server takes for a page of a hundred thousand devices, one request at a time. */
export async function run(): Promise<Record<string, unknown>> {
  const signalbox = await startSignalbox()
  try {
    const { siteId, macs } = await fillOrg(signalbox)
    const searches = searchesOf({ orgId: signalbox.orgId, siteId, macs })
    const figures: Record<string, unknown> = {}
    for (const [name, path] of Object.entries(searches)) figures[name] = await measure(signalbox, path)
    return { devices: DEVICES, sites: SITES, rounds: ROUNDS, ...figures }
  } finally {
    await signalbox.stop()
  }
}

/**
 * Measures from the first byte of the request to the last byte of the answer, on an open connection, which is slightly
 * more than the time of the server.
 */
async function measure({ url, authorization }: Signalbox, path: string): Promise<Record<string, number>> {
  const took: number[] = []
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
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
