import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { makeAreas } from '../tenancy/areas.ts'
import { callSample } from '../tenancy/call-sample.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
})
afterAll(() => server.close())

it('every count answers its values as texts, and leaves out those that are not set', async () => {
  const { ids, samples } = await makeAreas(server)
  const counts = server.operations.filter(({ at }) => at.path.endsWith('/count'))
  expect(counts.length).toBeGreaterThan(8)
  const seen = { set: 0, absent: 0 }
  for (const operation of counts) {
    const { distinct } = operation.schema.querystring?.properties ?? {}
    const fields: unknown = Reflect.get(Object(distinct), 'enum')
    for (const field of Array.isArray(fields) ? fields.map(String) : []) {
      const sample = { query: `distinct=${field}&limit=1000` }
      const { status, body } = await callSample(server, operation, {
        sample,
        ids: { ...ids, ...samples[operation.id]?.ids },
      })
      expect(status, `${operation.id} ${field}`).toBe(200)
      for (const { count, ...others } of body.results) {
        expect(count).toEqual(expect.any(Number))
        if (field in others) seen.set += 1
        else seen.absent += 1
        expect(others, `${operation.id} ${field}`).toEqual(field in others ? { [field]: expect.any(String) } : {})
      }
    }
  }
  expect(seen.set).toBeGreaterThan(20)
  expect(seen.absent).toBeGreaterThan(5)
})
