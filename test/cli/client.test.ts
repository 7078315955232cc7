import { expect, it } from 'vitest'
import { createClient } from '../../src/cli/client.ts'
import { startTestServer } from '../support/servers/server.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

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
