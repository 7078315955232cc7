import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { startChild } from './support/child.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

/** Measures requests per second of the server's reads, against a bare Fastify route that answers the same bytes. */
const CONNECTIONS = 64
const ROUNDS = 5
const ROUND_S = 4
const WARM_UP_S = 3
const SITES = ['Amsterdam', 'Berlin', 'Cordoba']

const bareServer = fileURLToPath(new URL('support/bare-server.ts', import.meta.url))

/** Page headers are part of the answer; each server sets the other headers itself. */
const isOurs = (header: string): boolean => header === 'content-type' || header.startsWith('x-page-')

interface Route {
  readonly name: string
  readonly path: string
}

export async function run(): Promise<Record<string, unknown>> {
  const signalbox = await startSignalbox()
  try {
    for (const name of SITES) await signalbox.call('POST', `/api/v1/orgs/${signalbox.orgId}/sites`, { name })
    const routes: Route[] = [
      { name: 'self', path: '/api/v1/self' },
      { name: 'sites', path: `/api/v1/orgs/${signalbox.orgId}/sites` },
    ]
    return { connections: CONNECTIONS, rounds: ROUNDS, round_s: ROUND_S, ...(await compare(signalbox, routes)) }
  } finally {
    await signalbox.stop()
  }
}

async function compare(signalbox: Signalbox, routes: readonly Route[]): Promise<Record<string, unknown>> {
  const { authorization } = signalbox
  const answers = await Promise.all(routes.map(({ path }) => record(signalbox, path)))
  const bare = await startChild({ args: [bareServer, JSON.stringify(answers)], ready: /^bare ready (\S+)$/ })
  try {
    const figures: Record<string, unknown> = {}
    for (const { name, path } of routes) {
      const load = (url = '', seconds = ROUND_S) => measure({ url: url + path, authorization, seconds })
      await load(signalbox.url, WARM_UP_S)
      await load(bare.match[1], WARM_UP_S)
      const rounds: { readonly ours: Load; readonly bare: Load }[] = []
      for (let round = 0; round < ROUNDS; round += 1)
        rounds.push({ ours: await load(signalbox.url), bare: await load(bare.match[1]) })
      figures[name] = summarize(rounds)
    }
    return figures
  } finally {
    await bare.stop()
  }
}

async function record({ url, authorization }: Signalbox, path: string) {
  const answer = await fetch(url + path, { headers: { authorization } })
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => isOurs(name)))
  return { path, headers, body: await answer.text() }
}

interface Load {
  readonly perS: number
  readonly p99Ms: number
}

async function measure(load: {
  readonly url: string
  readonly authorization: string
  readonly seconds: number
}): Promise<Load> {
  const { url, authorization, seconds } = load
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: seconds,
    headers: { authorization },
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} answers were no success, ${result.errors} errors`)
  return { perS: result.requests.average, p99Ms: result.latency.p99 }
}

function summarize(rounds: readonly { readonly ours: Load; readonly bare: Load }[]): Record<string, number> {
  return {
    ours_per_s: Math.round(median(rounds.map(({ ours }) => ours.perS))),
    bare_per_s: Math.round(median(rounds.map(({ bare }) => bare.perS))),
    ours_percent_of_bare: Math.round(median(rounds.map(({ ours, bare }) => (100 * ours.perS) / bare.perS))),
    ours_p99_ms: median(rounds.map(({ ours }) => ours.p99Ms)),
    bare_p99_ms: median(rounds.map(({ bare }) => bare.p99Ms)),
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
