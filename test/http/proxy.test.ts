import { request } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

/** Returns the address that the audit log shows for a change that came from `localAddress`. */
async function auditedAddress(localAddress: string): Promise<string> {
  const body = JSON.stringify({ name: localAddress })
  await new Promise<void>((resolve, reject) => {
    const sent = request(`${server.url}/api/v1/orgs/${server.org.orgId}/sites`, {
      method: 'POST',
      localAddress,
      headers: {
        authorization: `Token ${server.org.token}`,
        'content-type': 'application/json',
        'x-forwarded-for': '203.0.113.7',
      },
    })
    sent.on('response', (answer) => {
      answer.resume().on('end', resolve)
    })
    sent.on('error', reject)
    sent.end(body)
  })
  const { body: logs } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1`)
  return logs.results[0].src_ip
}

it('accepts the client address from a trusted proxy, and from no other', async () => {
  expect(await auditedAddress('127.0.0.2')).toBe('203.0.113.7')
  expect(await auditedAddress('127.0.0.3')).toBe('127.0.0.3')
})
