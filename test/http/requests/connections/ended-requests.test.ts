import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** A request that is kept takes about 8 KB. */
const MAX_BYTES_EACH = 3000

const moduleOf = (path: string): string => JSON.stringify(new URL(`../../../../${path}`, import.meta.url).href)

/** Prints how many bytes of the old heap each of many requests leaves behind minor collections. */
const program = `
  import { once } from 'node:events'
  import { Agent, request } from 'node:http'
  import { text } from 'node:stream/consumers'
  import { getHeapSpaceStatistics } from 'node:v8'
  import { serveApi } from ${moduleOf('src/http/serve-api.ts')}
  import { createHttpServer } from ${moduleOf('src/http/server.ts')}
  import { createLog } from ${moduleOf('src/platform/log.ts')}
  import { personOf } from ${moduleOf('test/support/person.ts')}

  const REQUESTS = 400
  // V8 moves what two minor collections have found alive.
  const BETWEEN_COLLECTIONS = 20

  const http = await createHttpServer({ log: createLog('silent'), tls: null })
  await serveApi(http, { authenticate: async () => personOf('a'), sessionCookie: () => 'sessionid' }, [
    async (api) => api.get('/quick', () => ({})),
  ])
  await http.listen({ host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const sent = { port: http.server.address().port, agent, path: '/api/v1/quick', headers: { authorization: 'Token a' } }
  const callAll = async () => {
    for (let count = 1; count <= REQUESTS; count += 1) {
      const [answer] = await once(request(sent).end(), 'response')
      if ((await text(answer)) !== '{}') throw new Error('The answer is not the expected one')
      if (count % BETWEEN_COLLECTIONS === 0) gc({ type: 'minor' })
    }
  }
  const oldHeapBytes = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size

  // What is compiled and remembered at first stays.
  await callAll()
  gc()
  const before = oldHeapBytes()
  await callAll()
  console.log((oldHeapBytes() - before) / REQUESTS)
  agent.destroy()
  await http.close()`

// The heap of the tests contains what other tests have left, so the requests are made in a process of their own.
it('are freed by minor collections', async () => {
  const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning', '--input-type=module']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--eval', program], { timeout: 60_000 })
  const bytes = Number(stdout)
  expect(bytes).toBeGreaterThan(0)
  expect(bytes).toBeLessThan(MAX_BYTES_EACH)
})
