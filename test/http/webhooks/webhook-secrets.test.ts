import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

const url = 'http://127.0.0.1:9/hook?key=hunter2'
const shownUrl = 'http://127.0.0.1:9/hook'
const elsewhere = 'http://127.0.0.1:10/mine'
const stored = { secret: 'hunter3', headers: { 'X-Key': 'hunter4' } }

let server: TestServer
let hooks: string
beforeAll(async () => {
  server = await startTestServer()
  hooks = `/orgs/${server.org.orgId}/webhooks`
})
afterAll(() => server.close())

async function setReveal(isHidden: boolean): Promise<void> {
  const body = { api_policy: { no_reveal: isHidden } }
  expect((await server.call('PUT', `/orgs/${server.org.orgId}/setting`, { body })).status).toBe(200)
}

/** Creates a webhook with secrets that answers no longer show. */
async function addHidden(): Promise<(method: string, body?: object) => ReturnType<TestServer['call']>> {
  await setReveal(false)
  const { body } = await server.call('POST', hooks, { body: { url, topics: ['audits'], ...stored } })
  await setReveal(true)
  return (method, sent) => server.call(method, `${hooks}/${body.id}`, { ...(sent && { body: sent }) })
}

it.each([
  ['another origin', { url: elsewhere }],
  ['another scheme', { url: 'https://127.0.0.1:9/hook' }],
  ['no check of the certificate', { verify_cert: false, url }],
  ['another type', { type: 'splunk', splunk_token: 'mine' }],
])('a caller who does not see the secrets must send them again for %s', async (_, change) => {
  const hook = await addHidden()
  for (const [name, given] of [
    ['secret', {}],
    ['headers', { secret: 'mine' }],
  ] as const) {
    const { status, body } = await hook('PUT', { ...change, ...given })
    expect([status, body.detail]).toEqual([400, expect.stringContaining(`${name}: must be given again`)])
  }
  expect((await hook('GET')).body).toMatchObject({ url: shownUrl, verify_cert: true })
  expect((await hook('PUT', { ...change, secret: null, headers: null })).status).toBe(200)
  await setReveal(false)
  expect((await hook('GET')).body).not.toMatchObject(stored)
})

it('lets them change everything else, and accepts an address as it was shown', async () => {
  const hook = await addHidden()
  const { body } = await hook('PUT', { name: 'x', url: shownUrl, verify_cert: true })
  expect(body).toMatchObject({ name: 'x', url: shownUrl })
  expect((await hook('PUT', { verify_cert: false, ...stored })).body.detail).toContain('url: must be given again')
  await setReveal(false)
  expect((await hook('GET')).body).toMatchObject({ url, verify_cert: true, ...stored })
  expect((await hook('PUT', { url: elsewhere })).status).toBe(200)
})

it('shows the query of an address to those who see secrets alone, and in no record', async () => {
  const hook = await addHidden()
  expect((await hook('GET')).body.url).toBe(shownUrl)
  expect((await hook('PUT', { url })).body.url).toBe(url)
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=10`)
  expect(JSON.stringify(body)).toContain(shownUrl)
  expect(JSON.stringify(body)).not.toMatch(/hunter\d/)
})

it('hides secrets in fields that the service does not know', async () => {
  await setReveal(false)
  const own = { note: 'x', api_token: 'hunter7', portal: { user: 'ada', password: 'hunter8' } }
  const { body: created } = await server.call('POST', hooks, { body: { url: shownUrl, topics: ['audits'], ...own } })
  const hook = (method: string, body?: object) =>
    server.call(method, `${hooks}/${created.id}`, { ...(body && { body }) })
  expect((await hook('GET')).body).toMatchObject(own)
  await setReveal(true)
  const { body: hidden } = await hook('GET')
  expect(hidden).toMatchObject({ note: 'x', portal: { user: 'ada' } })
  expect(JSON.stringify(hidden)).not.toMatch(/hunter\d/)
  expect((await hook('PUT', { api_token: 'hunter9' })).body.api_token).toBe('hunter9')
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=10`)
  expect(JSON.stringify(body)).toContain('"ada"')
  expect(JSON.stringify(body)).not.toMatch(/hunter\d/)
})

it('treats the query of the address of tokens like that of the webhook', async () => {
  await setReveal(false)
  const [tokenUrl, shown] = ['http://127.0.0.1:9/token?key=hunter5', 'http://127.0.0.1:9/token']
  const oauth2 = { type: 'oauth2', oauth2_client_id: 'client', oauth2_client_secret: 'hunter6' }
  const sent = { url: shownUrl, topics: ['audits'], ...oauth2, oauth2_token_url: tokenUrl }
  const created = await server.call('POST', hooks, { body: sent })
  const hook = (method: string, body?: object) =>
    server.call(method, `${hooks}/${created.body.id}`, { ...(body && { body }) })
  await setReveal(true)
  expect((await hook('GET')).body.oauth2_token_url).toBe(shown)
  expect((await hook('PUT', { name: 'y', oauth2_token_url: shown })).body).toMatchObject({ oauth2_token_url: shown })
  const blind = { verify_cert: false, oauth2_client_secret: 'mine' }
  expect((await hook('PUT', blind)).body.detail).toContain('oauth2_token_url: must be given again')
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=10`)
  expect(JSON.stringify(body)).toContain(shown)
  expect(JSON.stringify(body)).not.toMatch(/hunter\d/)
  expect((await hook('PUT', { ...blind, oauth2_token_url: tokenUrl })).body.oauth2_token_url).toBe(tokenUrl)
  await setReveal(false)
  expect((await hook('GET')).body).toMatchObject({ oauth2_token_url: tokenUrl, verify_cert: false, name: 'y' })
})
