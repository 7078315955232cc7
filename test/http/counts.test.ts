import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Operation } from '../../src/http/operation.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type Areas, makeAreas } from '../tenancy/areas.ts'
import { callSample } from '../tenancy/call-sample.ts'

let server: TestServer
let areas: Areas
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
  areas = await makeAreas(server)
})
afterAll(() => server.close())

/** Every count with each field that it counts. */
function fieldsOfCounts(): { operation: Operation; field: string }[] {
  const counts = server.operations.filter(({ at }) => at.path.endsWith('/count'))
  expect(counts.length).toBeGreaterThan(8)
  return counts.flatMap((operation) => {
    const { distinct } = operation.schema.querystring?.properties ?? {}
    const fields: unknown = Reflect.get(Object(distinct), 'enum')
    return (Array.isArray(fields) ? fields.map(String) : []).map((field) => ({ operation, field }))
  })
}

async function count(operation: Operation, query: string) {
  const { ids, samples } = areas
  const called = { sample: { query }, ids: { ...ids, ...samples[operation.id]?.ids } }
  const { status, body } = await callSample(server, operation, called)
  expect(status, `${operation.id} ${query}`).toBe(200)
  return body
}

it('every count answers its values as texts, and leaves out those that are not set', async () => {
  const seen = { set: 0, absent: 0 }
  for (const { operation, field } of fieldsOfCounts()) {
    const { results } = await count(operation, `distinct=${field}&limit=1000`)
    for (const { count: times, ...others } of results) {
      expect(times).toEqual(expect.any(Number))
      if (field in others) seen.set += 1
      else seen.absent += 1
      expect(others, `${operation.id} ${field}`).toEqual(field in others ? { [field]: expect.any(String) } : {})
    }
  }
  expect(seen.set).toBeGreaterThan(20)
  expect(seen.absent).toBeGreaterThan(5)
})

it('every count has pages, whose values are together all of them', async () => {
  const paged = new Set<string>()
  for (const { operation, field } of fieldsOfCounts()) {
    const whole = await count(operation, `distinct=${field}&limit=1000`)
    const pages = []
    for (let page = 1; page <= whole.total + 1; page += 1) {
      const one = await count(operation, `distinct=${field}&limit=1&page=${page}`)
      expect(one, operation.id).toMatchObject({ limit: 1, total: whole.total })
      pages.push(...one.results)
    }
    expect(pages, `${operation.id} ${field}`).toEqual(whole.results)
    if (whole.total > 1) paged.add(operation.id)
  }
  expect(paged.size).toBeGreaterThan(5)
})
