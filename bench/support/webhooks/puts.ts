import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Child, startChild } from '../child.ts'
import { cpuSeconds, cpuSecondsOfDescendants } from '../process-usage.ts'
import { startSignalbox } from '../signalbox.ts'
import { ask, reportOf } from './engine.ts'
import { percentiles } from './load.ts'
import { round } from './usage.ts'

const PUTS = 500
const RATES = [50, 200]
/** Before the first measurement, directly after the start. */
const FIRST_PUTS = 100
/** Before the others: Node has then compiled what it executes often. */
const WARM_UP_PUTS = 2500
const REST_MS = 5000
/** More wait for answers: an account may have a hundred requests in work. */
const MAX_AT_ONCE = 50
const WARM_UP_AT_ONCE = 4

/** A server, with its PostgreSQL among its children. */
interface Server {
  readonly pid: number
  /** Changes the name of the site. */
  readonly put: (name: string) => Promise<unknown>
}

/**
 * Measures what a `PUT` of a site costs from the request to the receiver of its audit event, and the same for `bare`, the
 * least that such a change takes. Processor time is that of the server, its PostgreSQL and the receiver.
 */
export async function measurePuts(receiver: Child): Promise<Record<string, unknown>> {
  const ours = await measureOurs(receiver)
  const bare = await measureBare(receiver)
  return { puts: PUTS, ...ours, bare }
}

async function measureOurs(receiver: Child): Promise<Record<string, unknown>> {
  const signalbox = await startSignalbox({ env: { SIGNALBOX_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } })
  try {
    const { call, orgId, pid } = signalbox
    const path = `/api/v1/orgs/${orgId}`
    await call('POST', `${path}/webhooks`, { url: `${receiver.match[1]}/other/put`, topics: ['audits'] })
    const { id } = (await call('POST', `${path}/sites`, { name: 'Site' })) as { readonly id: string }
    return await measure({ pid, put: (name) => call('PUT', `/api/v1/sites/${id}`, { name }) }, receiver)
  } finally {
    await signalbox.stop()
  }
}

async function measureBare(receiver: Child): Promise<Record<string, unknown>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signalbox-bench-'))
  const program = fileURLToPath(new URL('bare-put-server.ts', import.meta.url))
  const server = await startChild({
    args: [program, dataDir, receiver.match[1] ?? ''],
    ready: /^bare ready (\S+)$/,
  })
  const headers = { authorization: 'Token bare', 'content-type': 'application/json' }
  const put = async (name: string): Promise<unknown> => {
    const answer = await fetch(`${server.match[1]}/sites/1`, { method: 'PUT', headers, body: JSON.stringify({ name }) })
    if (!answer.ok) throw new Error(`PUT: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  try {
    return await measure({ pid: server.pid, put }, receiver)
  } finally {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
  }
}

async function measure(server: Server, receiver: Child): Promise<Record<string, unknown>> {
  const measureAt = async (perS: number): Promise<Record<string, unknown>> => {
    const before = await usageOf(server, receiver)
    const answersMs = await putAll(server, receiver, { count: PUTS, perS, atOnce: MAX_AT_ONCE })
    return { ...presentEach(before, await usageOf(server, receiver)), ...percentiles(answersMs) }
  }
  await putAll(server, receiver, { count: FIRST_PUTS, perS: 50, atOnce: MAX_AT_ONCE })
  const figures: Record<string, unknown> = { first_at_50_per_s: await measureAt(50) }
  await putAll(server, receiver, { count: WARM_UP_PUTS, perS: Infinity, atOnce: WARM_UP_AT_ONCE })
  for (const perS of RATES) figures[`at_${perS}_per_s`] = await measureAt(perS)
  const before = await usageOf(server, receiver)
  await delay(REST_MS)
  const after = await usageOf(server, receiver)
  return { ...figures, cpu_ms_per_s_of_rest: round(((sumOf(after) - sumOf(before)) * 1e6) / REST_MS) }
}

/** Resolves when the receiver has the events, with the milliseconds from each request to its answer. */
async function putAll(
  { put }: Server,
  receiver: Child,
  { count, perS, atOnce }: { readonly count: number; readonly perS: number; readonly atOnce: number },
): Promise<number[]> {
  await ask(receiver, 'reset')
  const began = performance.now()
  const answersMs: number[] = []
  const sent: Promise<void>[] = []
  for (let index = 0; index < count; index += 1) {
    await sent[index - atOnce]
    const sentMs = performance.now()
    sent.push(put(`Site ${index}`).then(() => void answersMs.push(Math.round(performance.now() - sentMs))))
    const waitMs = began + ((index + 1) * 1000) / perS - performance.now()
    if (waitMs > 0) await delay(waitMs)
  }
  await Promise.all(sent)
  for (let events = 0; events < count;) {
    await delay(50)
    events = (await reportOf(receiver)).events
  }
  return answersMs
}

/** Seconds of processor time since the start. */
interface Usage {
  readonly server: number
  readonly postgres: number
  readonly receiver: number
}

async function usageOf({ pid }: Server, receiver: Child): Promise<Usage> {
  return {
    server: await cpuSeconds(pid),
    postgres: await cpuSecondsOfDescendants(pid),
    receiver: await cpuSeconds(receiver.pid),
  }
}

function sumOf({ server, postgres, receiver }: Usage): number {
  return server + postgres + receiver
}

function presentEach(before: Usage, after: Usage): Record<string, unknown> {
  const per1000 = (part: keyof Usage): number => round(((after[part] - before[part]) / PUTS) * 1000)
  return {
    cpu_s_per_1000: round(((sumOf(after) - sumOf(before)) / PUTS) * 1000),
    cpu_s_per_1000_of: {
      server: per1000('server'),
      postgres: per1000('postgres'),
      receiver: per1000('receiver'),
    },
  }
}
