import { expect, it, onTestFinished } from 'vitest'
import { createFetchBounded } from '../../src/accounts/oauth/providers/fetch-bounded.ts'
import { createOutboundHttp } from '../../src/platform/outbound/outbound-http.ts'
import { startNameServer } from '../support/peers/name-server.ts'

const options = { method: 'GET', headers: {}, redirect: 'manual', body: null } as const

async function fetchWith(address: string) {
  const http = createOutboundHttp({ allowCidrs: [], allowLoopback: true, names: { servers: [address] } })
  onTestFinished(() => http.close())
  return createFetchBounded(http)
}

it('a silent name server of a provider occupies no thread that files and passwords need', async () => {
  const nameServer = await startNameServer()
  nameServer.answer('provider.test', 'silent')
  const fetchBounded = await fetchWith(nameServer.address)
  // The system's resolver would not have asked this server, and would wait in one of its few threads.
  await expect(fetchBounded('https://provider.test/keys', options)).rejects.toMatchObject({
    code: 'unavailable',
    cause: { cause: { message: expect.stringContaining('no name server answered in time') } },
  })
  expect(nameServer.asked).toContain('provider.test')
})

it('many requests to a provider whose name server is slow ask it once', async () => {
  const nameServer = await startNameServer(50)
  nameServer.answer('provider.test', { a: ['127.0.0.1'] })
  const fetchBounded = await fetchWith(nameServer.address)
  // Nothing listens there: the name is resolved, and the connection refused.
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, () => fetchBounded('https://provider.test:1234/keys', options)),
  )
  expect(results.every(({ status }) => status === 'rejected')).toBe(true)
  expect(nameServer.asked.toSorted()).toEqual(['provider.test', 'provider.test'])
})
