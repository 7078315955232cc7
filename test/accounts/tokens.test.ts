import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sweepTokens } from '../../src/accounts/tokens/sweep-tokens.ts'
import { sha256 } from '../../src/platform/secrets.ts'
import { addPerson, makeSsoAdmin } from '../support/people.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { tokensIn } from './tokens.ts'

const DAY_MS = 24 * 3600e3
const forbidden = { status: 403 }

let clock: TestClock
let server: TestServer
/** The path of the first organization's tokens. */
let orgTokens: string
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
  orgTokens = `/orgs/${server.org.orgId}/apitokens`
})
afterAll(() => server.close())

const readAll = [{ scope: 'org', role: 'read' }]

const { create, holder } = tokensIn(() => server)

describe('tokens of an admin', () => {
  it('show the key once, are stored as a hash, and are listed with four characters of each end', async () => {
    const { key, ...created } = await create('/self/apitokens', { name: 'script' })
    expect(key).toMatch(/^[\w-]{43}$/)
    expect(created).toEqual({
      id: expect.any(String),
      name: 'script',
      created_time: expect.any(Number),
      last_used: null,
    })
    const hint = `${key.slice(0, 4)}...${key.slice(-4)}`
    expect((await server.call('GET', `/self/apitokens/${created.id}`)).body).toEqual({ ...created, key: hint })
    const listed = await server.call('GET', '/self/apitokens')
    expect(listed.body).toContainEqual({ ...created, key: hint })
    expect(listed.headers.get('x-page-total')).toBe(String(listed.body.length))
    const row = await server.ctx.db
      .selectFrom('apiToken')
      .selectAll()
      .where('id', '=', created.id)
      .executeTakeFirstOrThrow()
    expect(row.keyHash).toEqual(sha256(key))
    expect(JSON.stringify(row)).not.toContain(key)
    expect(row.adminId).toBe(server.org.adminId)
  })

  it('have the privileges of their owner at each moment', async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'write' }])
    const { key } = await create('/self/apitokens', {}, person)
    const write = () => server.call('POST', `/orgs/${server.org.orgId}/sites`, { as: holder(key), body: { name: 'S' } })
    expect((await write()).status).toBe(200)
    await server.ctx.db.updateTable('privilege').set({ role: 'read' }).where('adminId', '=', person.adminId).execute()
    expect(await write()).toMatchObject(forbidden)
    await server.ctx.db.deleteFrom('privilege').where('adminId', '=', person.adminId).execute()
    expect((await write()).status).toBe(404)
  })

  it('can be renamed and deleted, which is recorded without the key', async () => {
    const { id, key } = await create('/self/apitokens', { name: 'old' })
    const put = (body: object) => server.call('PUT', `/self/apitokens/${id}`, { body })
    expect((await put({ name: 'new', key: 'x' })).body.detail).toContain('Invalid field key: ')
    expect((await put({ name: 'new', key })).body.name).toBe('new')
    expect(await server.call('DELETE', `/self/apitokens/${id}`)).toMatchObject({ status: 200, body: {} })
    expect((await server.call('GET', '/self', { as: holder(key) })).status).toBe(401)
    expect((await server.call('DELETE', `/self/apitokens/${id}`)).status).toBe(404)
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1000`)
    const messages = logs.body.results.map(({ message }: { message: string }) => message)
    expect(messages).toEqual(
      expect.arrayContaining(['Add API Token "old"', 'Update API Token "new"', 'Delete API Token "new"']),
    )
    expect(JSON.stringify(logs.body)).not.toContain(key)
  })

  it("can't be reached by others", async () => {
    const { id } = await create('/self/apitokens', { name: 'mine' })
    const stranger = await server.addOrg('Stranger')
    const path = `/self/apitokens/${id}`
    for (const [method, body] of [['GET'], ['PUT', { name: 'taken' }], ['DELETE']] as const)
      expect(await server.call(method, path, { as: stranger, body })).toMatchObject({ status: 404 })
    expect((await server.call('GET', path)).body.name).toBe('mine')
    // Tokens of an organization can't be reached by the path of one's own either.
    const ofOrg = await create(orgTokens, { name: 'org', privileges: readAll })
    expect((await server.call('GET', `/self/apitokens/${ofOrg.id}`)).status).toBe(404)
    expect((await server.call('GET', `${orgTokens}/${id}`)).status).toBe(404)
  })

  it('are refused to SSO admins and to tokens of organizations', async () => {
    const sso = await addPerson(server, [{ scope: 'org', role: 'admin' }])
    await makeSsoAdmin(server, sso)
    expect(await server.call('POST', '/self/apitokens', { as: sso, body: {} })).toMatchObject(forbidden)
    const { key } = await create(orgTokens, { name: 'org', privileges: [{ scope: 'org', role: 'admin' }] })
    expect(await server.call('POST', '/self/apitokens', { as: holder(key), body: {} })).toMatchObject(forbidden)
    const body = { detail: 'The token of an organization has no tokens of its own' }
    expect(await server.call('GET', '/self/apitokens', { as: holder(key) })).toMatchObject({ ...forbidden, body })
  })

  it('are limited in number, because each has a request limit of its own', async () => {
    const person = await server.addOrg('Many')
    for (let count = 1; count < 100; count += 1) await create('/self/apitokens', {}, person)
    expect(
      await server.call('POST', '/self/apitokens', { as: person, body: { password: person.password } }),
    ).toMatchObject({ status: 400 })
  })
})

describe('an account that is deleted or recovered during the request', () => {
  it('gets no token once it is deleted', async () => {
    const org = await server.addOrg()
    const { answer } = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('admin').select('id').where('id', '=', org.adminId).forUpdate().execute()
      const asked = server.call('POST', '/self/apitokens', { as: org, body: { password: org.password } })
      await untilWaiting(server, 1)
      await tx.deleteFrom('admin').where('id', '=', org.adminId).execute()
      return { answer: asked }
    })
    expect((await answer).status).toBe(401)
  })

  it.each(['self', 'org'])('gets no token of %s once it has been recovered', async (whose) => {
    const org = await server.addOrg()
    const path = whose === 'self' ? '/self/apitokens' : `/orgs/${org.orgId}/apitokens`
    const body = { name: 'late', password: org.password, ...(whose === 'org' && { privileges: readAll }) }
    const { answer } = await server.ctx.db.transaction().execute(async (tx) => {
      await tx
        .updateTable('admin')
        .set({ passwordModifiedAt: new Date(1) })
        .where('id', '=', org.adminId)
        .execute()
      const asked = server.call('POST', path, { as: org, body })
      await untilWaiting(server, 1)
      return { answer: asked }
    })
    expect((await answer).status).toBe(401)
  })
})

describe('unused tokens', () => {
  const works = async (key: string) => (await server.call('GET', '/self', { as: holder(key) })).status === 200
  const rowOf = (id: string) => server.ctx.db.selectFrom('apiToken').selectAll().where('id', '=', id).executeTakeFirst()

  /** The token that the test itself uses stays. */
  async function passDays(days: number): Promise<void> {
    clock.advance(days * DAY_MS)
    await server.ctx.db
      .updateTable('apiToken')
      .set({ lastUsedAt: clock.now() })
      .where('name', '=', 'bootstrap')
      .execute()
  }

  it('work for exactly 90 days, deleted or not', async () => {
    const { id, key } = await create('/self/apitokens', {})
    const unused = await create(orgTokens, { name: 'unused', privileges: readAll })
    await passDays(90)
    expect(await works(key)).toBe(true)
    clock.advance(1)
    expect(await works(unused.key)).toBe(false)
    expect(await works(key)).toBe(false)
    await server.tokenUses.flush()
    expect(await works(key)).toBe(true)
    expect((await rowOf(id))?.lastUsedAt?.getTime()).toBe(clock.now().getTime() - 1)
  })

  it('have their uses recorded some minutes apart, and never backwards', async () => {
    const { id, key } = await create('/self/apitokens', {})
    const used = async () => {
      await works(key)
      await server.tokenUses.flush()
      return (await rowOf(id))?.lastUsedAt
    }
    const first = clock.now()
    expect(await used()).toEqual(first)
    clock.advance(5 * 60e3 - 1)
    expect(await used()).toEqual(first)
    clock.advance(1)
    expect(await used()).toEqual(clock.now())
    // Another process has recorded a later use in the meantime.
    const later = new Date(clock.now().getTime() + 3600e3)
    clock.advance(5 * 60e3)
    await works(key)
    await server.ctx.db.updateTable('apiToken').set({ lastUsedAt: later }).where('id', '=', id).execute()
    await server.tokenUses.flush()
    expect((await rowOf(id))?.lastUsedAt).toEqual(later)
    expect((await server.call('GET', `/self/apitokens/${id}`)).body.last_used).toBe(Math.floor(later.getTime() / 1000))
  })

  it('are deleted by the sweep, which is recorded', async () => {
    const own = await create('/self/apitokens', { name: 'forgotten' })
    const ofOrg = await create(orgTokens, { name: 'forgotten by all', privileges: readAll })
    await passDays(90)
    clock.advance(11 * 60e3)
    const fresh = await create('/self/apitokens', { name: 'fresh' })
    await sweepTokens(server.ctx)
    expect(await rowOf(own.id)).toBeUndefined()
    expect(await rowOf(ofOrg.id)).toBeUndefined()
    expect(await rowOf(fresh.id)).toBeDefined()
    const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1000`)
    for (const name of ['forgotten', 'forgotten by all'])
      expect(logs.body.results).toContainEqual(expect.objectContaining({ message: `Expire API Token "${name}"` }))
  })
})

describe('the request limit', () => {
  it('applies to each token alone, and the reply says when to retry', async () => {
    const limited = await startTestServer(clock, { requestsPerHour: 3 })
    try {
      const get = (as = limited.org) => limited.call('GET', '/self', { as })
      for (let call = 0; call < 3; call += 1) expect((await get()).status).toBe(200)
      const refused = await get()
      expect(refused).toMatchObject({ status: 429, body: { detail: expect.stringMatching(/^Too Many Request\. /) } })
      expect(refused.headers.get('retry-after')).toMatch(/^(35\d\d|3600)$/)
      expect((await get(await limited.addOrg('Other'))).status).toBe(200)
    } finally {
      await limited.close()
    }
  })
})
