import { request } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

/** Returns the address that the audit log shows for a change that came from `localAddress`. */
async function auditedAddress(localAddress: string, forwardedFor = '203.0.113.7'): Promise<string> {
  const body = JSON.stringify({ name: localAddress })
  await new Promise<void>((resolve, reject) => {
    const sent = request(`${server.url}/api/v1/orgs/${server.org.orgId}/sites`, {
      method: 'POST',
      localAddress,
      headers: {
        authorization: `Token ${server.org.token}`,
        'content-type': 'application/json',
        'x-forwarded-for': forwardedFor,
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

it('takes addresses with ports, and none that is not an address', async () => {
  expect(await auditedAddress('127.0.0.2', '198.51.100.1, 203.0.113.7:4711')).toBe('203.0.113.7')
  expect(await auditedAddress('127.0.0.2', '[2001:db8::7]:443')).toBe('2001:db8::7')
  expect(await auditedAddress('127.0.0.2', 'fe80::1%eth0')).toBe('127.0.0.2')
  expect(await auditedAddress('127.0.0.2', "'; drop table site")).toBe('127.0.0.2')
})
