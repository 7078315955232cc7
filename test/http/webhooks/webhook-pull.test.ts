import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { createTestClock } from '../../support/test-clock.ts'
import { addPerson } from '../../support/people.ts'

let server: TestServer
let hooks: string
beforeAll(async () => {
  // A message is not handed out before its time, and the clock of a machine may be set back.
  server = await startTestServer(createTestClock())
  hooks = `/orgs/${server.org.orgId}/webhooks`
})
afterAll(() => server.close())

async function create(body: Record<string, unknown>): Promise<string> {
  const answer = await server.call('POST', hooks, { body })
  expect(answer.status).toBe(200)
  return answer.body.id
}

/** Adds an admin of the same organization who may only read. */
const addReader = () => addPerson(server, [{ scope: 'org', role: 'read' }])

it('messages are fetched by those who may read, and acknowledged by those who may write', async () => {
  const path = `${hooks}/${await create({ type: 'pull' })}`
  const messages = `${path}/messages`
  expect((await server.call('POST', `${path}/ping`)).status).toBe(200)
  const as = await addReader()
  expect(await server.call('GET', `${messages}?limit=1`, { as })).toMatchObject({
    status: 200,
    body: { messages: [{ topic: 'ping', headers: { 'webhook-id': expect.any(String) } }], cursor: '1' },
  })
  expect((await server.call('POST', `${messages}/ack`, { as, body: { cursor: '1' } })).status).toBe(403)
  for (const cursor of ['x', '-1', '2', '9'.repeat(19)]) {
    const refused = await server.call('POST', `${messages}/ack`, { body: { cursor } })
    expect([cursor, refused.status]).toEqual([cursor, 400])
    expect(refused.body.detail).toMatch(
      /^Invalid field cursor: (2 was never returned|".+" must be the cursor of an answer)/,
    )
  }
  expect((await server.call('GET', `${messages}?limit=1001`)).status).toBe(400)
  expect(await server.call('POST', `${messages}/ack`, { body: { cursor: '1' } })).toMatchObject({
    status: 200,
    body: { acknowledged: 1 },
  })
  const sent = await create({ url: 'http://127.0.0.1:9/hook' })
  expect((await server.call('GET', `${hooks}/${sent}/messages`)).status).toBe(400)
})
