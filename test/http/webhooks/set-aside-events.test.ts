import { afterEach, beforeEach, expect, it } from 'vitest'
import { inTx } from '../../../src/platform/database/db.ts'
import { setAsideEvents } from '../../../src/events/store-outbox.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { listenTo } from '../../support/peers/webhooks.ts'

const path = '/operator/v1/set-aside-events'
const operator = { as: null, headers: { authorization: 'Operator operator-key' } }
let server: TestServer
beforeEach(async () => {
  server = await startTestServer()
  await listenTo(server, 'audits')
})
afterEach(() => server.close())

it('shows the events that could not be routed to the operator only, and routes them again', async () => {
  await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body: { name: 'Here' } })
  const [event] = await server.ctx.db.selectFrom('webhookOutbox').select(['id', 'topic', 'bytes']).execute()
  if (event === undefined) throw new Error('no event')
  const at = new Date('2026-11-20T12:00:00Z')
  await inTx(server.ctx, (tx) => setAsideEvents(tx, [event.id], { at, reasonOf: () => 'Invalid string length' }))
  expect((await server.call('GET', path)).status).toBe(401)
  const { status, headers, body } = await server.call('GET', path, operator)
  expect({ status, total: headers.get('x-page-total') }).toEqual({ status: 200, total: '1' })
  expect(body).toMatchObject([
    {
      id: event.id,
      org_id: server.org.orgId,
      topic: event.topic,
      bytes: event.bytes,
      set_aside_time: at.getTime() / 1000,
      reason: 'Invalid string length',
    },
  ])
  expect((await server.call('POST', `${path}/retry`, operator)).body).toEqual({ events: 1 })
  expect((await server.call('GET', path, operator)).body).toEqual([])
})
