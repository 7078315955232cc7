import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'

const provider = (name: string) => ({
  name,
  clientId: 'signalbox',
  clientSecret: 'secret',
  // Unlinking needs no visit to the provider.
  issuer: 'https://provider.invalid',
  acceptRawCodes: false,
})

let server: TestServer
beforeAll(async () => {
  server = await startTestServer(undefined, { oauthProviders: [provider('acme'), provider('other')] })
})
afterAll(() => server.close())

interface Ways {
  readonly linked: readonly string[]
  readonly password: boolean
}

async function addAccount({ linked, password }: Ways): Promise<TestOrg> {
  const org = await server.addOrg()
  const { db } = server.ctx
  for (const name of linked)
    await db
      .insertInto('oauthIdentity')
      .values({ provider: name, issuer: 'i', subject: randomUUID(), adminId: org.adminId })
      .execute()
  if (!password) await db.updateTable('admin').set({ passwordHash: null }).where('id', '=', org.adminId).execute()
  return org
}

async function linkedOf({ adminId }: TestOrg): Promise<string[]> {
  const rows = await server.ctx.db
    .selectFrom('oauthIdentity')
    .select('provider')
    .where('adminId', '=', adminId)
    .execute()
  return rows.map((row) => row.provider).sort()
}

const unlink = (as: TestOrg, path: string) => server.call('DELETE', path, { as })

describe('unlinking', () => {
  it.each(['/self/oauth/acme', '/login/oauth/acme'])('deletes the link and audits it: DELETE %s', async (path) => {
    const org = await addAccount({ linked: ['acme', 'other'], password: true })
    expect(await unlink(org, path)).toMatchObject({ status: 200, body: {} })
    expect(await linkedOf(org)).toEqual(['other'])
    const self = await server.call('GET', '/self', { as: org })
    expect(self.body).toMatchObject({ oauth_acme: false, oauth_other: true })
    const logs = await server.call('GET', `/orgs/${org.orgId}/logs`, { as: org })
    expect(logs.body.results).toContainEqual(
      expect.objectContaining({
        message: 'OAuth unlinked: acme',
        before: expect.objectContaining({ provider: 'acme' }),
      }),
    )
    expect((await unlink(org, path)).status).toBe(404)
  })

  it('never removes the last way to sign in', async () => {
    const org = await addAccount({ linked: ['acme'], password: false })
    expect(await unlink(org, '/self/oauth/acme')).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/only way/) },
    })
    expect(await linkedOf(org)).toEqual(['acme'])
  })

  it('does not count a provider that is no longer configured', async () => {
    const org = await addAccount({ linked: ['acme', 'gone'], password: false })
    expect((await unlink(org, '/self/oauth/acme')).status).toBe(400)
    expect((await unlink(org, '/self/oauth/gone')).status).toBe(200)
    expect(await linkedOf(org)).toEqual(['acme'])
  })

  it('of the last two at the same time leaves one', async () => {
    for (let round = 0; round < 5; round += 1) {
      const org = await addAccount({ linked: ['acme', 'other'], password: false })
      const answers = await Promise.all([unlink(org, '/self/oauth/acme'), unlink(org, '/login/oauth/other')])
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
      expect(await linkedOf(org)).toHaveLength(1)
    }
  })

  it('needs credentials', async () => {
    for (const path of ['/self/oauth/acme', '/login/oauth/acme'])
      expect((await server.call('DELETE', path, { as: null })).status).toBe(401)
  })
})
