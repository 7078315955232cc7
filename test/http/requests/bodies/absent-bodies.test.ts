import { afterAll, beforeAll, expect, it } from 'vitest'
import { fetchOpenApi, operationsOf } from '../../../support/contract/openapi.ts'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { makeAreas } from '../../../tenancy/areas.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
})
afterAll(() => server.close())

/** The replacements of a body. */
const absences: readonly { readonly body?: string; readonly headers?: Record<string, string> }[] = [
  {},
  { body: '', headers: { 'content-type': 'application/json' } },
  { body: ' \n', headers: { 'content-type': 'application/json' } },
]

it('refuses a request without a body exactly where the document requires one', async () => {
  const ids = { image_name: 'image1', ...(await makeAreas(server)).ids }
  const operations = operationsOf(await fetchOpenApi(server)).filter(({ spec }) => spec.requestBody !== undefined)
  const required = operations.filter(({ spec }) => spec.requestBody?.required === true)
  expect(required.length).toBeGreaterThan(20)
  expect(operations.length - required.length).toBeGreaterThan(20)
  const wrong: unknown[] = []
  for (const { id, method, path, spec } of operations)
    for (const absence of absences) {
      const at = path
        .replace('/api/v1', '')
        .replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(Reflect.get(ids, name) ?? 'x'))
      const { status, body } = await server.call(method, at, absence)
      const refused = status === 415 || (status === 400 && /body|required/i.test(String(body.detail)))
      if (refused !== (spec.requestBody?.required === true)) wrong.push({ id, absence, status, body })
    }
  expect(wrong).toEqual([])
}, 60_000)
