import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { serviceAccount } from '../../support/servers/service-account.ts'
import { addPerson } from '../../support/people.ts'

let server: TestServer
let siteId: string
let hooks: string
beforeAll(async () => {
  server = await startTestServer()
  siteId = (await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body: { name: 'Site' } })).body.id
  hooks = `/orgs/${server.org.orgId}/webhooks`
})
afterAll(() => server.close())

const url = 'http://127.0.0.1:9/hook'
const oauth2 = {
  type: 'oauth2',
  oauth2_token_url: 'http://127.0.0.1:9/token',
  oauth2_client_id: 'client',
  oauth2_client_secret: 'secret',
}

const sns = {
  type: 'aws-sns',
  aws_topic_arn: 'arn:aws:sns:eu-west-1:123456789012:events',
  aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE',
  aws_secret_access_key: 'sns/secret',
}
const account = serviceAccount('http://127.0.0.1:9/token').file
const pubsubWith = (change: Record<string, unknown>) => ({
  type: 'google-pubsub',
  url: 'http://127.0.0.1:9/v1/projects/p/topics/t:publish',
  google_service_account: JSON.stringify({ ...account, ...change }),
})
const pubsub = pubsubWith({})
const keyOf = (bits: number) => ({ private_key: serviceAccount('', bits).file['private_key'] })
const person = { oauth2_grant_type: 'password', oauth2_username: 'ada', oauth2_password: 'pass word' }

async function create(body: Record<string, unknown> = {}): Promise<Record<string, unknown> & { id: string }> {
  const answer = await server.call('POST', hooks, { body: { url, topics: ['audits'], ...body } })
  expect(answer.status).toBe(200)
  return answer.body
}

/** Adds an admin of the same organization with a minor role. */
const addReader = () => addPerson(server, [{ scope: 'org', role: 'read' }])

const lastAudit = () =>
  server.ctx.db.selectFrom('auditLog').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirstOrThrow()

describe('webhooks of an organization', () => {
  it('return what was set, including unknown keys, and omit what was not', async () => {
    const created = await create({ name: 'Lab', secret: 's3cret', custom: { deep: [1] }, id: 'mine' })
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      org_id: server.org.orgId,
      for_site: false,
      name: 'Lab',
      url,
      topics: ['audits'],
      secret: 's3cret',
      custom: { deep: [1] },
      enabled: true,
      type: 'http-post',
      verify_cert: true,
      created_time: expect.any(Number),
      modified_time: expect.any(Number),
    })
    expect((await server.call('GET', `${hooks}/${created.id}`)).body).toEqual(created)
  })

  it('merge an update at the top level and unset fields by a minus sign', async () => {
    const { id } = await create({ name: 'A', secret: 's', headers: { 'X-A': '1', 'X-B': '2' } })
    const update = (body: Record<string, unknown>) => server.call('PUT', `${hooks}/${id}`, { body })
    expect((await update({ headers: { 'X-C': '3' } })).body).toMatchObject({
      name: 'A',
      secret: 's',
      headers: { 'X-C': '3' },
    })
    const { body } = await update({ '-secret': '', '-headers': '', enabled: false })
    expect(body).not.toHaveProperty('secret')
    expect(body).not.toHaveProperty('headers')
    expect(body).toMatchObject({ name: 'A', enabled: false, topics: ['audits'] })
    const row = await server.ctx.db.selectFrom('webhook').select('secrets').where('id', '=', id).executeTakeFirst()
    expect(row).toEqual({ secrets: null })
  })

  it('become ones whose messages are fetched, without what only concerns sending, and back', async () => {
    const path = `${hooks}/${(await create()).id}`
    const refused = await server.call('PUT', path, { body: { type: 'pull' } })
    expect(refused).toMatchObject({ status: 400, body: { reason: expect.stringMatching(/: "-url": "" unsets it$/) } })
    const pulled = await server.call('PUT', path, { body: { type: 'pull', '-url': '' } })
    expect(pulled).toMatchObject({ status: 200, body: { type: 'pull' } })
    expect(pulled.body).not.toHaveProperty('url')
    expect(await server.call('PUT', path, { body: { type: 'http-post', url } })).toMatchObject({
      status: 200,
      body: { type: 'http-post', url },
    })
  })

  it('show secrets only to callers who may write, store them sealed, and omit them from the audit log', async () => {
    const { id } = await create({ name: 'Quiet', secret: 'very secret', type: 'splunk', splunk_token: 'tok-en' })
    const audit = await lastAudit()
    expect(audit).toMatchObject({
      message: 'Add Webhook "Quiet"',
      after: { webhook_id: id, secret: '***', splunk_token: '***' },
    })
    const row = await server.ctx.db.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(JSON.stringify([row.doc, row.secrets?.toString('latin1')])).not.toMatch(/very secret|tok-en/)
    const as = await addReader()
    const seen = await server.call('GET', `${hooks}/${id}`, { as })
    expect(seen.body).toMatchObject({ name: 'Quiet' })
    expect(JSON.stringify([seen.body, (await server.call('GET', hooks, { as })).body])).not.toMatch(
      /very secret|tok-en/,
    )
    for (const [method, path] of [
      ['POST', hooks],
      ['PUT', `${hooks}/${id}`],
      ['DELETE', `${hooks}/${id}`],
      ['POST', `${hooks}/${id}/ping`],
    ] as const)
      expect((await server.call(method, path, { as, body: { url } })).status).toBe(403)
  })

  it('show custom headers, which often contain credentials, like secrets', async () => {
    const headers = { 'X-Api-Key': 'opens the door' }
    const { id } = await create({ name: 'Guarded', headers })
    const seen = await server.call('GET', `${hooks}/${id}`)
    expect(seen.body).toMatchObject({ headers })
    const as = await addReader()
    for (const path of [`${hooks}/${id}`, hooks])
      expect(JSON.stringify((await server.call('GET', path, { as })).body)).not.toMatch(/opens the door|X-Api-Key/)
  })

  it('have pages and are deleted once', async () => {
    const other = await server.addOrg('Pages')
    const path = `/orgs/${other.orgId}/webhooks`
    const ids: string[] = []
    for (const name of ['1', '2', '3'])
      ids.push((await server.call('POST', path, { as: other, body: { name, url, topics: [] } })).body.id)
    const page = await server.call('GET', `${path}?limit=2&page=2`, { as: other })
    expect(page.body.map(({ id }: { id: string }) => id)).toEqual([ids[2]])
    expect(page.headers.get('x-page-total')).toBe('3')
    expect(await server.call('DELETE', `${path}/${ids[0]}`, { as: other })).toMatchObject({ status: 200, body: {} })
    expect((await server.call('DELETE', `${path}/${ids[0]}`, { as: other })).status).toBe(404)
    expect((await server.call('GET', `${path}/${ids[0]}`, { as: other })).body).toEqual({
      detail: 'Not found.',
      id: ids[0],
    })
    expect((await server.call('GET', path, { as: other })).body).toHaveLength(2)
  })

  it('are separate per organization', async () => {
    const { id } = await create()
    const as = await server.addOrg('Foreign')
    const own = `/orgs/${as.orgId}/webhooks/${id}`
    for (const [method, path] of [
      ['GET', own],
      ['PUT', own],
      ['DELETE', own],
      ['POST', `${own}/ping`],
      ['GET', `${own}/events/search`],
      ['GET', `${own}/events/count`],
      ['GET', `${hooks}/${id}`],
      ['GET', hooks],
    ] as const)
      expect((await server.call(method, path, { as, ...(method !== 'GET' && { body: {} }) })).status).toBe(404)
    expect((await server.call('GET', `${hooks}/${id}`)).status).toBe(200)
  })

  it.each([
    ['url missing', { url: undefined }, 'url'],
    ['a url that is not an address', { url: 'nowhere' }, 'url'],
    ['url of another scheme', { url: 'ftp://example.test/' }, 'url'],
    ['url with a password', { url: 'http://a:b@example.test/' }, 'url'],
    ['private address', { url: 'http://10.0.0.5/' }, 'url'],
    ['metadata address in disguise', { url: 'http://0xa9fea9fe/latest' }, 'url'],
    ['topic unknown', { topics: ['nonsense'] }, 'topics'],
    ['topic of sites only', { topics: ['location'] }, 'topics'],
    ['topics that are not a list', { topics: 'audits' }, 'topics'],
    ['an address for what is fetched', { type: 'pull' }, 'url'],
    [
      'a pace for what is fetched',
      { type: 'pull', url: undefined, rate_limit: { messages: 1, per: 'second' } },
      'rate_limit',
    ],
    ['a certificate for what is fetched', { type: 'pull', url: undefined, client_cert: 'x' }, 'client_cert'],
    ['type unknown', { type: 'pigeon' }, 'type'],
    ['oauth2 without the address of tokens', { ...oauth2, oauth2_token_url: undefined }, 'oauth2_token_url'],
    ['oauth2 with a private address', { ...oauth2, oauth2_token_url: 'http://10.0.0.5/' }, 'oauth2_token_url'],
    ['oauth2 without a client', { ...oauth2, oauth2_client_id: '' }, 'oauth2_client_id'],
    ['oauth2 without the secret of the client', { ...oauth2, oauth2_client_secret: undefined }, 'oauth2_client_secret'],
    ['oauth2 with a secret of no client', { ...oauth2, ...person, oauth2_client_id: '' }, 'oauth2_client_id'],
    ['oauth2 without the name of a person', { ...oauth2, oauth2_grant_type: 'password' }, 'oauth2_username'],
    ['oauth2 with a grant that needs a browser', { ...oauth2, oauth2_grant_type: 'code' }, 'oauth2_grant_type'],
    ['aws-sns without a topic', { ...sns, aws_topic_arn: undefined }, 'aws_topic_arn'],
    [
      'aws-sns with a topic of another service',
      { ...sns, aws_topic_arn: 'arn:aws:sqs:eu-west-1:1:a' },
      'aws_topic_arn',
    ],
    ['aws-sns with no key', { ...sns, aws_access_key_id: 'short' }, 'aws_access_key_id'],
    ['aws-sns without the secret', { ...sns, aws_secret_access_key: '' }, 'aws_secret_access_key'],
    ['aws-sns with a query', { ...sns, url: 'http://127.0.0.1:9/?Action=Publish' }, 'url'],
    ['google-pubsub with another address', { ...pubsub, url: 'http://127.0.0.1:9/v1/topics/a' }, 'url'],
    ['google-pubsub without an account', { ...pubsub, google_service_account: undefined }, 'google_service_account'],
    ['google-pubsub with no JSON', { ...pubsub, google_service_account: '{' }, 'google_service_account'],
    ['google-pubsub with a key of no kind', pubsubWith({ private_key: 'x' }), 'google_service_account'],
    ['google-pubsub with a key that is too short', pubsubWith(keyOf(512)), 'google_service_account'],
    ['google-pubsub with a key that takes long to sign', pubsubWith(keyOf(4608)), 'google_service_account'],
    [
      'google-pubsub with a private address of tokens',
      pubsubWith({ token_uri: 'http://10.0.0.5/' }),
      'google_service_account',
    ],
    ['splunk without token', { type: 'splunk' }, 'splunk_token'],
    ['reserved header', { headers: { Host: 'x' } }, 'headers'],
    ['header with a line end', { headers: { 'X-A': 'a\r\nX-B: b' } }, 'headers'],
    ['an invalid header name', { headers: { 'X A': 'a' } }, 'headers'],
    ['long headers', { headers: { 'X-A': 'a'.repeat(1000) } }, 'headers'],
    ['two spellings of a header', { headers: { 'X-A': 'a', 'x-a': 'b' } }, 'headers'],
    ['a secret that overlaps for ever', { secret: 'a', secret_overlap_s: 1e9 }, 'secret_overlap_s'],
    [
      'a filter that is no path',
      { filter: '$.events[?@.type = 1]' },
      'filter: expected "]" at character 18, found "="',
    ],
    ['a filter of unbounded cost', { filter: '$..type' }, 'filter: expected a name at character 3, found "."'],
    ['a long filter', { filter: `$.${'a'.repeat(500)}` }, 'filter'],
    ['an unknown order', { order: 'site' }, 'order'],
    ['a rate limit of nothing', { rate_limit: { messages: 0, per: 'second' } }, 'rate_limit'],
    ['a rate limit of an unknown period', { rate_limit: { messages: 1, per: 'hour' } }, 'rate_limit'],
    ['an enabled that is not a boolean', { enabled: 'yes' }, 'enabled'],
    ['a secret that is not a text', { secret: 5 }, 'secret'],
  ])('refuse: %s', async (_what, body, field) => {
    const before = (await server.call('GET', hooks)).body.length
    const answer = await server.call('POST', hooks, { body: { url, topics: ['audits'], ...body } })
    expect(answer).toMatchObject({ status: 400, body: { reason: expect.any(String) } })
    expect(answer.body.detail).toMatch(new RegExp(`Invalid field ${field}`))
    expect((await server.call('GET', hooks)).body.length).toBe(before)
  })

  it('publish the keys that sign, to everybody, and replace them', async () => {
    const { id } = await create({ ed25519_signatures: true, secret_overlap_s: 600 })
    const keysOf = async (path: string) => (await server.call('GET', path, { as: null })).body.keys
    const published = `/webhook_keys/${server.org.orgId}/${id}`
    const [first] = await keysOf(published)
    const jwk = { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid: expect.any(String), x: expect.any(String) }
    expect(first).toEqual({ ...jwk, public_key: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/) })
    const replaced = await server.call('POST', `${hooks}/${id}/replace_key`, { body: {} })
    expect(replaced).toMatchObject({ status: 200, body: { keys: [{}, { ...first, until: expect.any(Number) }] } })
    expect(await keysOf(published)).toEqual(replaced.body.keys)
    expect((await lastAudit()).after).toEqual({ webhook_id: id })
    await server.call('PUT', `${hooks}/${id}`, { body: { secret: 'a', ed25519_signatures: false } })
    expect(await keysOf(published)).toEqual(replaced.body.keys)
    const plain = await create()
    expect(await keysOf(`/webhook_keys/${server.org.orgId}/${plain.id}`)).toEqual([])
    const refused = await server.call('POST', `${hooks}/${plain.id}/replace_key`, { body: {} })
    expect(refused).toMatchObject({ status: 400, body: { reason: expect.stringMatching(/true/) } })
    for (const path of [`${siteId}/${id}`, `${server.org.orgId}/${siteId}`])
      expect((await server.call('GET', `/webhook_keys/${path}`, { as: null })).status).toBe(404)
  })

  it('never show the credentials of clouds, and keep them where an update leaves them out', async () => {
    const { id, ...created } = await create(sns)
    expect(created).toMatchObject({ aws_access_key_id: sns.aws_access_key_id })
    const sent = await server.call('PUT', `${hooks}/${id}`, { body: { ...created, name: 'B' } })
    expect(sent).toMatchObject({ status: 200, body: { name: 'B' } })
    for (const body of [created, sent.body, (await server.call('GET', `${hooks}/${id}`)).body])
      expect(JSON.stringify(body)).not.toContain(sns.aws_secret_access_key)
    const other = await create(pubsub)
    expect(other).not.toHaveProperty('google_service_account')
  })

  it('keep a replaced secret as long as asked, show until when, and take back what they showed', async () => {
    const { id } = await create({ secret: 'a' })
    const put = async (body: Record<string, unknown>) => (await server.call('PUT', `${hooks}/${id}`, { body })).body
    const shown = await put({ secret: 'b', secret_overlap_s: 600 })
    const until = shown.former_secrets_until[0]
    expect(until - shown.modified_time).toBeCloseTo(600, 3)
    expect(shown).toMatchObject({ secret: 'b', secret_overlap_s: 600, former_secrets_until: [until] })
    expect(await put(shown)).toMatchObject({ secret: 'b', former_secrets_until: [until] })
    expect(await put({ secret: 'c', secret_overlap_s: 0 })).toMatchObject({ former_secrets_until: [until] })
  })

  it('check an update like a creation', async () => {
    const { id } = await create()
    for (const body of [{ url: 'http://192.168.1.1/' }, { '-url': '' }, { topics: ['zone'] }, { type: 'oauth2' }])
      expect((await server.call('PUT', `${hooks}/${id}`, { body })).status).toBe(400)
  })
})

describe('webhooks of a site', () => {
  it('may have topics of sites, and are hidden from the organization', async () => {
    const path = `/sites/${siteId}/webhooks`
    const body = { name: 'S', url, topics: ['location', 'audits'] }
    const created = await server.call('POST', path, { body })
    expect(created).toMatchObject({ status: 200, body: { site_id: siteId, for_site: true, ...body } })
    const { id } = created.body
    expect((await server.call('GET', `${path}/${id}`)).body).toEqual(created.body)
    expect((await server.call('GET', path)).body).toEqual([created.body])
    expect((await server.call('GET', `${hooks}/${id}`)).status).toBe(404)
    expect((await lastAudit()).siteId).toBe(siteId)
    expect((await server.call('PUT', `${path}/${id}`, { body: { name: 'T' } })).body).toMatchObject({ name: 'T' })
    expect((await server.call('DELETE', `${path}/${id}`)).body).toEqual({})
  })
})
