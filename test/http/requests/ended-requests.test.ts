import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import { startSlowServer } from './slow-server.ts'

const REQUESTS = 400
/** V8 moves what two minor collections have found alive. */
const BETWEEN_COLLECTIONS = 20
/** A request that is kept takes about 8 KB. */
const MAX_BYTES_EACH = 3000

function collector(): (options?: { readonly type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void
}

function oldHeapBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')
  return old?.space_used_size ?? 0
}

it('are freed by minor collections', async () => {
  const { port } = await startSlowServer()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const collect = collector()
  const callAll = async (): Promise<void> => {
    for (let count = 1; count <= REQUESTS; count += 1) {
      const sent = request({ port, agent, path: '/api/v1/quick', headers: { authorization: 'Token a' } }).end()
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      expect(await text(answer)).toBe('{}')
      if (count % BETWEEN_COLLECTIONS === 0) collect({ type: 'minor' })
    }
  }
  // What is compiled and remembered at first stays.
  await callAll()
  collect()
  const before = oldHeapBytes()
  await callAll()
  expect((oldHeapBytes() - before) / REQUESTS).toBeLessThan(MAX_BYTES_EACH)
})
