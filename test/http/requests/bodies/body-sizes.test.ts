import { afterAll, beforeAll, expect, it } from 'vitest'
import { MAX_PUBLIC_BYTES } from '../../../../src/http/bodies/body-limits.ts'
import { fetchOpenApi, operationsOf } from '../../../support/contract/openapi.ts'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { makeAreas } from '../../../tenancy/areas.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
})
afterAll(() => server.close())

it('accepts at most 16 KiB from unknown callers for any operation, and more from others', async () => {
  const { ids } = await makeAreas(server)
  const operations = operationsOf(await fetchOpenApi(server)).filter(
    ({ method, spec }) => method !== 'GET' && spec.requestBody?.content?.['application/json'] !== undefined,
  )
  const body = JSON.stringify({ text: 'x'.repeat(MAX_PUBLIC_BYTES) })
  const wrong: unknown[] = []
  let publicOnes = 0
  for (const { id, method, path, spec } of operations) {
    const isPublic = spec.security?.length === 0
    if (isPublic) publicOnes += 1
    const at = path
      .replace('/api/v1', '')
      .replaceAll(/\{(\w+)\}/g, (_all, name: string) => Reflect.get(ids, name) ?? 'x')
    const { status } = await server.call(method, at, { body, headers: { 'content-type': 'application/json' } })
    if ((status === 413) !== isPublic) wrong.push({ id, isPublic, status })
  }
  expect(wrong).toEqual([])
  expect(publicOnes).toBeGreaterThan(5)
  expect(operations.length - publicOnes).toBeGreaterThan(50)
}, 60_000)
