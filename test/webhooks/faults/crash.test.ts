import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startServerProcess } from '../../support/servers/server-process.ts'
import { type AtEnd, temporaryDir } from '../../support/temporary-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { bootstrap, callerOf } from '../bootstrap.ts'
import { type Received, type Receiver, type Reply, allValid, signaturesOf, startReceiver, status } from '../receiver.ts'

const KILLS = 4
const SITES_A_ROUND = 10
/** Much less than the lease of a lane, which is 60 s. */
const FIRST_DELIVERY_WITHIN_MS = 30_000
const secret = 'survives'
const ordered = 'ordered'
const names = ['a', 'b', 'c', ordered]

const LANES = 4
/** More than an attempt may take. */
const STOPPED_MS = 17_000

async function startOwnReceiver(atEnd: AtEnd): Promise<Receiver> {
  const receiver = await startReceiver()
  atEnd(() => receiver.kill())
  return receiver
}

/** Answers a number of requests, then leaves every further request unanswered. */
function answerSome(count: number): { readonly reply: Reply; readonly heldPaths: Set<string | undefined> } {
  const heldPaths = new Set<string | undefined>()
  let left = count
  return {
    heldPaths,
    reply: (request, response) => {
      left -= 1
      if (left >= 0) response.writeHead(200).end()
      else heldPaths.add(request.url)
    },
  }
}

const sitesIn = ({ events }: Received) =>
  events.map(({ message }) => String(message)).filter((message) => message.startsWith('Add Site'))

// The second test waits for most of its time.
describe.concurrent('webhooks', () => {
  it(
    'loses nothing and keeps an order when the server is killed repeatedly, and continues as soon as it has restarted',
    { timeout: 300_000 },
    async ({ onTestFinished }) => {
      const receiver = await startOwnReceiver(onTestFinished)
      const dataDir = join(await temporaryDir(onTestFinished), 'data')
      let server = await startServerProcess({ dataDir }, onTestFinished)
      const { org_id: orgId, api_token: token } = await bootstrap(server.url, dataDir)
      const path = `/api/v1/orgs/${orgId}`
      for (const name of names)
        await callerOf(server.url, `Token ${token}`)('POST', `${path}/webhooks`, {
          name,
          url: `${receiver.url}/${name}`,
          topics: ['audits'],
          secret,
          single_event_per_message: true,
          ...(name === ordered && { order: 'webhook' }),
        })

      const firstDeliveriesMs: number[] = []
      for (let round = 0; round < KILLS; round += 1) {
        const some = answerSome(5 * round)
        receiver.answer(some.reply)
        const call = callerOf(server.url, `Token ${token}`)
        for (let site = 0; site < SITES_A_ROUND; site += 1)
          await call('POST', `${path}/sites`, { name: `site ${round}.${site}` })
        // Each lane is leased now, with a request in flight.
        await waitUntil('every lane hangs', () => some.heldPaths.size === names.length)
        await server.kill('SIGKILL')
        const before = receiver.received.length
        receiver.answer(status(200))
        server = await startServerProcess({ dataDir }, onTestFinished)
        const readyMs = performance.now()
        await waitUntil('the first delivery', () => receiver.received.length > before, 90_000)
        firstDeliveriesMs.push(performance.now() - readyMs)
      }
      expect(Math.max(...firstDeliveriesMs)).toBeLessThan(FIRST_DELIVERY_WITHIN_MS)

      const distinct = () => {
        const byId = new Map(receiver.received.map((message) => [message.headers['webhook-id'], message]))
        return [...byId.values()].flatMap(sitesIn)
      }
      await waitUntil('everything delivered', () => distinct().length >= names.length * KILLS * SITES_A_ROUND)
      const expected = Array.from({ length: KILLS * SITES_A_ROUND }, (_, index) => {
        const name = `site ${Math.floor(index / SITES_A_ROUND)}.${index % SITES_A_ROUND}`
        return names.map(() => `Add Site "${name}"`)
      })
      expect(distinct().toSorted()).toEqual(expected.flat().toSorted())
      const inOrder = receiver.received.filter(({ path: of }) => of.endsWith(`/${ordered}`)).flatMap(sitesIn)
      expect([...new Set(inOrder)]).toEqual(expected.map(([message]) => message))
      // After a kill the last messages may be repeated, but none is skipped.
      const places = inOrder.map((message) => expected.findIndex(([of]) => of === message))
      expect(places.filter((place, index) => place > (places[index - 1] ?? -1) + 1)).toEqual([])
      for (const message of receiver.received) expect(signaturesOf(message, secret)).toEqual(allValid)
      // Repeated deliveries are allowed and recognizable: they have the same id and the same bytes.
      const byId = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id'])
      for (const repeats of byId.values()) expect(new Set(repeats.map(({ raw }) => raw.toString('utf8'))).size).toBe(1)
    },
  )

  it(
    'continues after it was stopped for long, and repeats no request that was answered in the meantime',
    { timeout: 300_000 },
    async ({ onTestFinished }) => {
      const receiver = await startOwnReceiver(onTestFinished)
      const dataDir = join(await temporaryDir(onTestFinished), 'data')
      const server = await startServerProcess({ dataDir }, onTestFinished)
      const { org_id: orgId, api_token: token } = await bootstrap(server.url, dataDir)
      const call = callerOf(server.url, `Token ${token}`)
      const path = `/api/v1/orgs/${orgId}`
      for (let lane = 0; lane < LANES; lane += 1)
        await call('POST', `${path}/webhooks`, { url: `${receiver.url}/${lane}`, topics: ['audits'] })
      // Each webhook also gets the events of the creation of later ones.
      await waitUntil(
        'the first events',
        () => new Set(receiver.received.map((message) => message.path)).size === LANES,
      )
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
      for (const same of byId.values()) expect(same).toHaveLength(1)
    },
  )
})
