import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { Pool, type Dispatcher } from 'undici'
import type { Child } from './child.ts'
import { type Engine, ask, reportOf } from './webhook-engine.ts'
import { percentiles } from './webhook-load.ts'
import { presentUsage, usageOf } from './webhook-usage.ts'

/** As many as the webhooks of the benchmark, each of which has a connection of its own. */
const CONNECTIONS = 20
const RECORD_MS = 100
const KEY = 's'.repeat(32)

/**
 * Does the least that a durable delivery takes, as the reference for the engine: one row of an event is committed, its
 * signed request is sent to the receiver, and the answer is recorded, together with those of the same 100 ms. Nothing is
 * routed, ordered, limited, retried or read again.
 */
export async function deliverBare(
  engine: Engine,
  receiver: Child,
  { perS, seconds }: { readonly perS: number; readonly seconds: number },
): Promise<Record<string, unknown>> {
  const database = new pg.Pool({ ...engine.connection, max: 4 })
  const http = new Pool(new URL(receiver.match[1] ?? '').origin, { connections: CONNECTIONS })
  await database.query(`
    create table bare_event (id bigint primary key, body text not null);
    create table bare_attempt (event_id bigint primary key, status integer not null, body text not null)`)
  const recorder = recordAnswers(database)
  const sendFrom = async (first: number, forS: number): Promise<number> => {
    const began = performance.now()
    const sent: Promise<void>[] = []
    while (performance.now() - began < forS * 1000) {
      sent.push(deliver(first + sent.length))
      const waitMs = began + (sent.length * 1000) / perS - performance.now()
      if (waitMs > 0) await delay(waitMs)
    }
    await Promise.all(sent)
    await recorder.flush()
    return sent.length
  }
  const deliver = async (id: number): Promise<void> => {
    const body = JSON.stringify({ topic: 'audits', events: [{ id, message: String(Date.now()), admin_name: 'Bench' }] })
    await database.query({ name: 'event', text: 'insert into bare_event values ($1, $2)', values: [id, body] })
    recorder.add({ id, body, status: await post(http, body) })
  }
  try {
    const warm = await sendFrom(0, 2)
    await ask(receiver, 'reset')
    const before = await usageOf(engine, receiver)
    const count = await sendFrom(warm, seconds)
    const after = await usageOf(engine, receiver)
    const { healthyMs } = await reportOf(receiver)
    const { cpu_s_per_1000, cpu_s_per_1000_of, wal_bytes_each } = presentUsage(before, after, count)
    return { cpu_s_per_1000, cpu_s_per_1000_of, wal_bytes_each, ...percentiles(healthyMs) }
  } finally {
    recorder.end()
    await http.close()
    await database.query('drop table bare_event, bare_attempt')
    await database.end()
  }
}

interface Answer {
  readonly id: number
  readonly body: string
  readonly status: number
}

function recordAnswers(database: pg.Pool): {
  readonly add: (answer: Answer) => void
  readonly flush: () => Promise<void>
  readonly end: () => void
} {
  let waiting: Answer[] = []
  async function flush(): Promise<void> {
    const answers = waiting
    waiting = []
    if (answers.length === 0) return
    await database.query({
      name: 'attempts',
      text: 'insert into bare_attempt select * from unnest($1::bigint[], $2::integer[], $3::text[])',
      values: [answers.map(({ id }) => id), answers.map(({ status }) => status), answers.map(({ body }) => body)],
    })
  }
  const timer = setInterval(() => void flush(), RECORD_MS)
  return { add: (answer) => void waiting.push(answer), flush, end: () => clearInterval(timer) }
}

function post(http: Dispatcher, body: string): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    'x-signature': createHmac('sha256', KEY).update(body).digest('hex'),
  }
  return new Promise((resolve, reject) => {
    let status = 0
    http.dispatch(
      { method: 'POST', path: '/healthy/bare', headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, answered) {
          status = answered
        },
        onResponseData() {},
        onResponseEnd: () => resolve(status),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
}
