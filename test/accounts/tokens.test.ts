import { randomUUID } from 'node:crypto'
import { get } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sweepTokens } from '../../src/accounts/tokens/sweep-tokens.ts'
import { sha256 } from '../../src/platform/secrets.ts'
import { addSite } from '../support/fleets/devices.ts'
import { addPerson, makeSsoAdmin } from '../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

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

/** The holder of a key, for `as`. */
const holder = (key: string): TestOrg => ({ ...server.org, token: key })

/** Creates a token with the password; a token does not replace it. */
async function create(path: string, body: object, as = server.org): Promise<Answer['body']> {
  const answer = await server.call('POST', path, { body: { password: as.password, ...body }, as })
  expect(answer).toMatchObject({ status: 200 })
  return answer.body
}

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

describe('tokens of an organization', () => {
  it('have an account record with a name and no address', async () => {
    const created = await create(orgTokens, {
      name: 'terraform',
      privileges: readAll,
      created_by: 'x',
      org_id: randomUUID(),
    })
    expect(created).toMatchObject({ org_id: server.org.orgId, created_by: server.org.email, last_used: null })
    expect(created).not.toHaveProperty('src_ips')
    const self = await server.call('GET', '/self', { as: holder(created.key) })
    expect(self.body).toMatchObject({ name: 'terraform', privileges: [{ scope: 'org', role: 'read' }] })
    expect(self.body).not.toHaveProperty('email')
    const change = await server.call('PUT', `/orgs/${server.org.orgId}`, {
      as: holder(created.key),
      body: { name: 'X' },
    })
    expect(change).toMatchObject(forbidden)
  })

  it("can't create an organization, which would have no admin", async () => {
    const { key } = await create(orgTokens, { name: 'x', privileges: [{ scope: 'org', role: 'admin' }] })
    expect(await server.call('POST', '/orgs', { as: holder(key), body: { name: 'Orphan' } })).toMatchObject(forbidden)
  })

  it('outlive their creator, whose name is then no longer shown', async () => {
    const person = await addPerson(server, [{ scope: 'org', role: 'admin' }])
    const { key, id } = await create(orgTokens, { name: 'x', privileges: readAll }, person)
    await server.ctx.db.deleteFrom('admin').where('id', '=', person.adminId).execute()
    expect((await server.call('GET', '/self', { as: holder(key) })).status).toBe(200)
    expect((await server.call('GET', `${orgTokens}/${id}`)).body.created_by).toBeNull()
  })

  it.each([
    ['no privileges', { privileges: [] }],
    ['eleven privileges', { privileges: Array.from({ length: 11 }, () => readAll[0]) }],
    ['an unknown role', { privileges: [{ scope: 'org', role: 'root' }] }],
    ['a scope beyond the organization', { privileges: [{ scope: 'msp', role: 'read' }] }],
    ['a site that is not named', { privileges: [{ scope: 'site', role: 'read' }] }],
    ['another organization', { privileges: [{ scope: 'org', role: 'read', org_id: randomUUID() }] }],
    ['eleven addresses', { src_ips: Array.from({ length: 11 }, (_, index) => `10.0.0.${index}`) }],
    ['a malformed address', { src_ips: ['10.0.0.0/33'] }],
    ['no name', { name: '' }],
  ])('refuses %s', async (_what, fields) => {
    const body = { name: 'x', privileges: readAll, ...fields }
    expect(await server.call('POST', orgTokens, { body })).toMatchObject({ status: 400 })
  })

  it('refuse a site of another organization like an unknown one', async () => {
    const stranger = await server.addOrg('Stranger')
    const siteId = await addSite(server, 'Elsewhere', stranger)
    for (const site_id of [siteId, randomUUID()]) {
      const body = { name: 'x', privileges: [{ scope: 'site', role: 'read', site_id }] }
      expect(await server.call('POST', orgTokens, { body })).toMatchObject({ status: 404, body: { id: site_id } })
    }
  })

  it('have at most the privileges of their creator', async () => {
    const siteId = await addSite(server, 'Mine')
    const other = await addSite(server, 'Not mine')
    const siteAdmin = await addPerson(server, [{ scope: 'site', role: 'admin', site_id: siteId }])
    const ask = (as: TestOrg, privileges: unknown) =>
      server.call('POST', orgTokens, { as, body: { name: 'x', privileges } })
    for (const privileges of [readAll, [{ scope: 'site', role: 'read', site_id: other }]])
      expect(await ask(siteAdmin, privileges)).toMatchObject(forbidden)
    const { status, body } = await ask(siteAdmin, [{ scope: 'site', role: 'write', site_id: siteId }])
    expect(status).toBe(200)
    expect((await server.call('GET', `/sites/${siteId}`, { as: holder(body.key) })).status).toBe(200)
    expect((await server.call('GET', `/sites/${other}`, { as: holder(body.key) })).status).toBe(404)
    for (const role of ['write', 'read', 'helpdesk', 'installer'] as const)
      expect(await ask(await addPerson(server, [{ scope: 'org', role }]), readAll)).toMatchObject(forbidden)
  })

  it('can change name and privileges, but never addresses', async () => {
    const created = await create(orgTokens, { name: 'x', privileges: readAll, src_ips: ['127.0.0.0/8', '::1'] })
    const path = `${orgTokens}/${created.id}`
    const put = (body: unknown) => server.call('PUT', path, { body })
    expect((await put({ src_ips: ['127.0.0.1'] })).status).toBe(400)
    expect((await put({ src_ips: [] })).status).toBe(400)
    const changed = await put({
      src_ips: ['127.0.0.0/8', '::1'],
      name: 'y',
      privileges: [{ scope: 'org', role: 'write' }],
    })
    expect(changed.body).toMatchObject({ name: 'y', privileges: [{ role: 'write' }], src_ips: ['127.0.0.0/8', '::1'] })
    expect((await server.call('GET', path)).body).toEqual(changed.body)
  })

  it('may do nothing without privileges, until an update grants some', async () => {
    const { id, key, ...created } = await create(orgTokens, { name: 'later' })
    expect(created).not.toHaveProperty('privileges')
    const read = () => server.call('GET', `/orgs/${server.org.orgId}`, { as: holder(key) })
    expect((await server.call('GET', '/self', { as: holder(key) })).body).toMatchObject({ privileges: [] })
    expect((await read()).status).toBe(404)
    expect((await server.call('PUT', `${orgTokens}/${id}`, { body: { name: 'renamed' } })).status).toBe(200)
    expect((await read()).status).toBe(404)
    const granted = await server.call('PUT', `${orgTokens}/${id}`, { body: { privileges: readAll } })
    expect(granted.body).toMatchObject({ name: 'renamed', privileges: readAll })
    expect((await read()).status).toBe(200)
  })

  it('return empty lists that were sent, and no others', async () => {
    const privileges = [{ scope: 'org', role: 'read', views: [] }]
    const created = await create(orgTokens, { name: 'x', privileges, src_ips: [] })
    expect(created).toMatchObject({ src_ips: [], privileges })
    const path = `${orgTokens}/${created.id}`
    expect((await server.call('GET', path)).body).toMatchObject({ src_ips: [], privileges })
    const without = await create(orgTokens, { name: 'y', privileges: readAll })
    const changed = await server.call('PUT', `${orgTokens}/${without.id}`, { body: { src_ips: [] } })
    expect(changed.body).toMatchObject({ src_ips: [] })
    expect((await server.call('GET', '/self', { as: holder(created.key) })).status).toBe(200)
  })

  it('work only from their addresses', async () => {
    const here = await create(orgTokens, { name: 'here', privileges: readAll, src_ips: ['127.0.0.1'] })
    const elsewhere = await create(orgTokens, { name: 'elsewhere', privileges: readAll, src_ips: ['10.0.0.0/8'] })
    expect((await server.call('GET', '/self', { as: holder(here.key) })).status).toBe(200)
    const headers = { 'x-forwarded-for': '10.0.0.1' }
    const refused = await server.call('GET', '/self', { as: holder(elsewhere.key), headers })
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining('address') } })
  })

  it.each([
    ['10.0.0.1', 200],
    ['::ffff:10.0.0.1', 200],
    ['198.51.100.1, 10.0.0.1', 200],
    ['10.0.0.1, 198.51.100.1', 403],
    ['unknown', 403],
    ['', 403],
  ])('use the last address that a trusted proxy reports: %j', async (forwardedFor, status) => {
    const { key } = await create(orgTokens, { name: 'far', privileges: readAll, src_ips: ['10.0.0.0/8'] })
    const headers = { authorization: `Token ${key}`, 'x-forwarded-for': forwardedFor }
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      get(`${server.url}/api/v1/self`, { headers, localAddress: '127.0.0.2' }, (reply) => {
        reply.resume().on('end', () => resolve(reply.statusCode))
      }).on('error', reject)
    })
    expect(answer).toBe(status)
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
