import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startServerProcess } from '../support/server-process.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bootstrap, callerOf } from './bootstrap.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

const LANES = 4
/** More than an attempt may take. */
const STOPPED_MS = 17_000

let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.kill())

it('goes on after it was stopped for long, and repeats at most the requests that were open', async () => {
  const dataDir = join(await temporaryDir(), 'data')
  const server = await startServerProcess({ dataDir })
  const { org_id: orgId, api_token: token } = await bootstrap(server.url, dataDir)
  const call = callerOf(server.url, `Token ${token}`)
  const path = `/api/v1/orgs/${orgId}`
  for (let lane = 0; lane < LANES; lane += 1)
    await call('POST', `${path}/webhooks`, { url: `${receiver.url}/${lane}`, topics: ['audits'] })
  // Each webhook also gets the events of the creation of later ones.
  await waitUntil('the first events', () => new Set(receiver.received.map((message) => message.path)).size === LANES)
  const held: { readonly lane: string | undefined; readonly response: ServerResponse }[] = []
  receiver.answer(({ url: lane }, response) => void held.push({ lane, response }))
  await call('POST', `${path}/sites`, { name: 'stopped' })
  await waitUntil('a request of each lane', () => new Set(held.map(({ lane }) => lane)).size === LANES)
  server.child.kill('SIGSTOP')
  receiver.answer(status(200))
  for (const { response } of held) response.writeHead(200).end()
  await delay(STOPPED_MS)
  server.child.kill('SIGCONT')
  await call('POST', `${path}/sites`, { name: 'continued' })
  const arrivals = (name: string) =>
    receiver.received.filter(({ events }) => events.some(({ message }) => message === `Add Site "${name}"`))
  await waitUntil('deliveries continue', () => arrivals('continued').length === LANES)
  expect(arrivals('continued').length).toBe(LANES)
  const byId = Map.groupBy(arrivals('stopped'), ({ path, headers }) => `${path} ${String(headers['webhook-id'])}`)
  expect(byId.size).toBe(LANES)
  for (const same of byId.values()) expect(same.length).toBeLessThanOrEqual(2)
}, 180_000)
