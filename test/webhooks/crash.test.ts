import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/platform/clock.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type Harness, createHarness } from './harness.ts'
import { type Receiver, allValid, signaturesOf, startReceiver } from './receiver.ts'

const key = randomBytes(32)
let harness: Harness
let receiver: Receiver
const engines = new Set<ChildProcess>()
beforeEach(async () => {
  harness = await createHarness(systemClock, createSecrets(key))
  receiver = await startReceiver()
})
afterEach(async () => {
  for (const engine of engines) await kill(engine)
  await harness.close()
  await receiver.kill()
})

async function startEngine(): Promise<ChildProcess> {
  const engine = spawn(process.execPath, [fileURLToPath(new URL('engine-process.ts', import.meta.url))], {
    env: { ...process.env, ENGINE: JSON.stringify({ connection: harness.connection, key: key.toString('hex') }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  engines.add(engine)
  const { stdout } = engine
  if (stdout === null) throw new Error('no output to wait for')
  await once(stdout, 'data')
  return engine
}

async function kill(engine: ChildProcess): Promise<void> {
  engines.delete(engine)
  if (engine.exitCode !== null || engine.signalCode !== null) return
  engine.kill('SIGKILL')
  await once(engine, 'exit')
}

it('loses nothing when it is killed again and again in the middle of its work', async () => {
  const secret = 'survives'
  const topics = ['audits']
  for (const name of ['a', 'b', 'c'])
    await harness.addWebhook({ name, url: `${receiver.url}/${name}`, topics, secret, single_event_per_message: true })
  const messages = Array.from({ length: 60 }, (_, index) => `m${index}`)
  // A killed engine's lanes stay leased for a while: what ends the lease here is this test, not time.
  const endLeases = () => harness.ctx.db.updateTable('webhookLane').set({ leaseUntil: null }).execute()

  for (let round = 0; round < 4; round += 1) {
    const engine = await startEngine()
    for (const message of messages.slice(round * 15, round * 15 + 15)) await harness.audit(message)
    await receiver.waitFor(receiver.received.length + 10)
    await kill(engine)
    await endLeases()
  }
  await startEngine()
  await waitUntil(
    'everything delivered',
    async () => {
      const outbox = await harness.ctx.db.selectFrom('webhookOutbox').select('id').execute()
      const { messages: left, pending } = await harness.waiting()
      return outbox.length === 0 && left === 0 && pending === 0
    },
    20_000,
  )

  for (const message of receiver.received) expect(signaturesOf(message, secret)).toEqual(allValid)
  const byId = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id'])
  // Repeats are allowed, and can be told by their id: same id, same bytes.
  for (const repeats of byId.values()) expect(new Set(repeats.map(({ raw }) => raw.toString('utf8'))).size).toBe(1)
  const distinct = [...byId.values()].flatMap(([first]) => first?.events.map((event) => String(event['message'])) ?? [])
  expect(distinct.toSorted()).toEqual([...messages, ...messages, ...messages].toSorted())
}, 60_000)
