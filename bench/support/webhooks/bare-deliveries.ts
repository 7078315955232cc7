import { setTimeout as delay } from 'node:timers/promises'
import { endPool } from '../../../src/platform/database/connections/end-pool.ts'
import { openBarePool } from '../bare-pool.ts'
import { createBareSender } from './bare-sender.ts'
import type { Child } from '../child.ts'
import { type Engine, ask, reportOf } from './engine.ts'
import { percentiles } from './load.ts'
import { presentUsage, usageOf } from './usage.ts'

/** Equals the number of webhooks of the benchmark: each has a connection of its own. */
const CONNECTIONS = 20

/**
 * Does the least that a durable delivery takes, as the reference for the engine: one row of an event is committed, its
 * signed request is sent to the receiver, and the answer is recorded. Nothing is routed, ordered, limited, retried or read
 * again.
 */
export async function deliverBare(
  engine: Engine,
  receiver: Child,
  { perS, seconds }: { readonly perS: number; readonly seconds: number },
): Promise<Record<string, unknown>> {
  const database = openBarePool(engine.connection)
  await database.query('create table bare_event (id bigint primary key, body text not null)')
  const sender = await createBareSender({
    database,
    origin: new URL(receiver.match[1] ?? '').origin,
    connections: CONNECTIONS,
  })
  const sendFrom = async (first: number, forS: number): Promise<number> => {
    const began = performance.now()
    const sent: Promise<void>[] = []
    while (performance.now() - began < forS * 1000) {
      sent.push(deliver(first + sent.length))
      const waitMs = began + (sent.length * 1000) / perS - performance.now()
      if (waitMs > 0) await delay(waitMs)
    }
    await Promise.all(sent)
    await sender.flush()
    return sent.length
  }
  const deliver = async (id: number): Promise<void> => {
    const body = JSON.stringify({ topic: 'audits', events: [{ id, message: String(Date.now()), admin_name: 'Bench' }] })
    await database.query({ name: 'event', text: 'insert into bare_event values ($1, $2)', values: [id, body] })
    await sender.send(id, body)
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
    await sender.end()
    await database.query('drop table bare_event')
    await endPool(database)
  }
}
