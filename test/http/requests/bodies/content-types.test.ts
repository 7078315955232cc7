import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'
import type { Sample } from '../../../tenancy/area.ts'
import { makeAreas } from '../../../tenancy/areas.ts'
import { callSample } from '../../../tenancy/call-sample.ts'
import { selfSamples } from '../../../tenancy/self.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
})
afterAll(() => server.close())

it('every answer of every operation with a body has its content type', async () => {
  const { ids, samples } = await makeAreas(server)
  const others = server.operations.map(({ id }) => id).filter((id) => !(id in samples))
  // Samples succeed in their order; the caller's account, which is its own last sample, comes after them.
  const ordered = [...Object.keys(samples), ...others, 'logout', 'deleteSelf']
  const operations = server.operations.toSorted((a, b) => ordered.lastIndexOf(a.id) - ordered.lastIndexOf(b.id))
  const wrong: unknown[] = []
  let successes = 0
  for (const operation of operations) {
    const sample: Sample = { ...selfSamples, ...samples }[operation.id] ?? {}
    const known = { provider: 'google', token: 'unknown', ...ids, ...sample.ids }
    // The first call is admitted and the others are refused, so both kinds of answers are seen.
    for (const as of [server.org, null]) {
      const { status, headers, body } = await callSample(server, operation, { sample, ids: known, as })
      const type = headers.get('content-type')?.split(';', 1)[0] ?? 'none'
      const declared = status === 200 ? Object.keys(operation.reply.content) : ['application/json']
      if (status === 200) successes += 1
      if (body !== '' && !declared.includes(type)) wrong.push({ id: operation.id, status, type, declared })
    }
  }
  expect(wrong).toEqual([])
  expect(successes).toBeGreaterThan(server.operations.length * 0.8)
}, 60_000)
