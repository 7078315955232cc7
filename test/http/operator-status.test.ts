import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRefusals } from '../../src/gateway/admission/refusals.ts'
import { version } from '../../src/platform/version.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { createTestClock } from '../support/test-clock.ts'

const clock = createTestClock()
const refusals = createRefusals(() => clock.now().getTime())
let server: TestServer
beforeAll(async () => {
  server = await startTestServer(clock, {}, null, { refusals })
})
afterAll(() => server.close())

const operator = { as: null, headers: { authorization: 'Operator operator-key' } }

it('shows the operator the state of the service and its database', async () => {
  const { status, body } = await server.call('GET', '/operator/v1/status', operator)
  expect({ status, body }).toMatchObject({ status: 200, body: { version, node_version: process.versions.node } })
  expect(body.started_time).toBeLessThanOrEqual(clock.now().getTime() / 1000)
  const { database } = body
  expect(database.version).toMatch(/^\d+/)
  expect(database.bytes).toBeGreaterThan(1_000_000)
  expect(database.connections).toBeGreaterThan(0)
  expect(database.max_connections).toBeGreaterThan(database.connections)
  expect(database.migration).toMatch(/^0\d{3}_.*\.sql$/)
})

it('shows the operator why devices were refused', async () => {
  refusals.add({ protocol: 'ucentral', why: 'tls', address: '192.0.2.1' })
  clock.advance(5000)
  refusals.add({ protocol: 'ucentral', why: 'tls', address: '192.0.2.1' })
  refusals.add({ protocol: 'junos', why: 'host_key', address: '192.0.2.2', detail: 'another key' })
  const nowS = clock.now().getTime() / 1000
  const { body } = await server.call('GET', '/operator/v1/refused-devices', operator)
  expect(body).toEqual([
    {
      ...{ protocol: 'junos', reason: 'host_key', address: '192.0.2.2', detail: 'another key' },
      ...{ count: 1, first_time: nowS, last_time: nowS },
    },
    { protocol: 'ucentral', reason: 'tls', address: '192.0.2.1', count: 2, first_time: nowS - 5, last_time: nowS },
  ])
})

it('refuses every other caller', async () => {
  for (const path of ['/operator/v1/status', '/operator/v1/refused-devices']) {
    expect((await server.call('GET', path)).status).toBe(401)
    const wrong = { as: null, headers: { authorization: 'Operator another-key' } }
    expect((await server.call('GET', path, wrong)).status).toBe(401)
  }
})
