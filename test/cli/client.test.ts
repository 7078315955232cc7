import { createServer } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, it } from 'vitest'
import { createClient } from '../../src/cli/client.ts'
import { startTestServer } from '../support/servers/server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { listen } from '../webhooks/delivery/listen.ts'
import { selfSigned } from '../webhooks/self-signed.ts'

it('reports the detail of an error once, though its reason repeats a part of it', async () => {
  const server = await startTestServer()
  try {
    const { orgId, token } = server.org
    const options = { url: server.url, authorization: `Token ${token}`, dataDir: await temporaryDir() }
    await expect(createClient(options).call('GET', `/api/v1/orgs/${orgId}/sites?nonsense=1`)).rejects.toThrow(
      /^Invalid field nonsense: is no parameter of this operation \(GET [^ ]+: 400\)$/,
    )
  } finally {
    await server.close()
  }
})

it('trusts the authorities that its environment adds', async () => {
  const certificate = await selfSigned('127.0.0.1')
  const url = `https://127.0.0.1:${await listen(createServer(certificate, (_request, response) => response.end('{}')))}`
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, certificate.cert])
  try {
    const client = createClient({ url, authorization: 'Operator key', dataDir: await temporaryDir() })
    expect(await client.call('GET', '/')).toEqual({})
  } finally {
    setDefaultCACertificates(trusted)
  }
})
