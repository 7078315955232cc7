import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AnyJson } from '../support/contract/any-json.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { type Browser, openBrowser } from './browser.ts'
import { callAs, callByScript, signedIn } from './person.ts'
import { type RealProvider, agree, cancel, startRealProvider } from './real-provider.ts'
import { createOffsetClock } from '../support/test-clock.ts'

const clock = createOffsetClock()
let provider: RealProvider
let server: TestServer
beforeAll(async () => {
  provider = await startRealProvider('acme')
  server = await startTestServer(clock, {
    oauthProviders: [provider.settings],
    trustedOrigins: ['https://portal.example.com'],
    trustLoopback: false,
  })
  provider.serve(server.url)
})
afterAll(async () => {
  await server.close()
  await provider.close()
})

const SELF = '/self/oauth/acme'
const LOGIN = '/login/oauth/acme'

/** Signs in at the provider as `subject` and returns our code. */
async function codeOf(browser: Browser, path: string, subject: string): Promise<string> {
  const { body } = await callAs(browser, server, `GET ${path}`)
  return JSON.parse((await agree(browser, body.authorization_url, subject)).text).code
}

async function link(org: TestOrg, subject: string): Promise<Browser> {
  const browser = await signedIn(server, org)
  const code = await codeOf(browser, SELF, subject)
  expect(await callAs(browser, server, `POST ${SELF}`, { code })).toMatchObject({ status: 200 })
  return browser
}

async function newestLog(org: TestOrg): Promise<AnyJson> {
  return (await server.call('GET', `/orgs/${org.orgId}/logs`, { as: org })).body.results[0]
}

const identities = () => server.ctx.db.selectFrom('oauthIdentity').selectAll().execute()

describe('linking', () => {
  it('links an identity, shows it in the account record and audits it', async () => {
    const org = await server.addOrg()
    const browser = await signedIn(server, org)
    const before = await callAs(browser, server, `GET ${SELF}`)
    expect(before).toEqual({ status: 200, body: { linked: false, authorization_url: expect.any(String) } })
    const url = new URL(before.body.authorization_url)
    expect(url.origin).toBe(provider.settings.issuer)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: 'signalbox',
      redirect_uri: `${server.url}/oauth/acme/callback`,
      response_type: 'code',
      code_challenge_method: 'S256',
    })
    expect((await callAs(browser, server, 'GET /self')).body).toMatchObject({ oauth_acme: false })

    const page = await agree(browser, before.body.authorization_url, 'anna')
    expect(page).toMatchObject({ status: 200, text: expect.stringMatching(/^\{"code":"[\w-]{43}"\}$/) })
    const linked = await callAs(browser, server, `POST ${SELF}`, JSON.parse(page.text))
    expect(linked).toEqual({ status: 200, body: { action: 'oauth account linked', id: 'anna' } })
    expect((await callAs(browser, server, 'GET /self')).body).toMatchObject({ oauth_acme: true })
    expect((await callAs(browser, server, `GET ${SELF}`)).body.linked).toBe(true)
    const logs = await server.call('GET', `/orgs/${org.orgId}/logs`, { as: org })
    expect(logs.body.results).toContainEqual(
      expect.objectContaining({ admin_id: org.adminId, message: 'OAuth linked: acme' }),
    )
  })

  it('refuses an identity that another account has linked', async () => {
    const [first, second] = [await server.addOrg(), await server.addOrg()]
    const subject = randomUUID()
    await link(first, subject)
    const browser = await signedIn(server, second)
    const code = await codeOf(browser, SELF, subject)
    const refused = await callAs(browser, server, `POST ${SELF}`, { code })
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: expect.stringMatching(/another account/) },
    })
    expect((await callAs(browser, server, 'GET /self')).body.oauth_acme).toBe(false)
  })

  it('allows one identity of a provider for an account, and accepts the same one again', async () => {
    const org = await server.addOrg()
    const subject = randomUUID()
    const browser = await link(org, subject)
    const again = await codeOf(browser, SELF, subject)
    expect(await callAs(browser, server, `POST ${SELF}`, { code: again })).toMatchObject({ body: { id: subject } })
    // For another name the provider prompts again.
    const elsewhere = await signedIn(server, org)
    const other = await codeOf(elsewhere, SELF, randomUUID())
    expect((await callAs(elsewhere, server, `POST ${SELF}`, { code: other })).status).toBe(400)
    expect((await identities()).filter(({ adminId }) => adminId === org.adminId)).toMatchObject([{ subject }])
  })

  it('works for a script whose user signs in with a browser', async () => {
    const org = await server.addOrg()
    const headers = { authorization: `Token ${org.token}` }
    const { body } = await callByScript(server, 'GET', SELF, { headers })
    const page = await agree(openBrowser(), body.authorization_url, 'by-script')
    const elsewhere = { authorization: `Token ${server.org.token}` }
    const code = { ...JSON.parse(page.text), password: org.password }
    expect((await callByScript(server, 'POST', SELF, { headers, body: code })).status).toBe(200)
    const next = await callByScript(server, 'GET', SELF, { headers })
    const page2 = JSON.parse((await agree(openBrowser(), next.body.authorization_url, 'by-script')).text)
    const second = { ...page2, password: server.org.password }
    expect((await callByScript(server, 'POST', SELF, { headers: elsewhere, body: second })).status).toBe(400)
  })

  it('is refused once the owner has recovered the account', async () => {
    const org = await server.addOrg()
    const browser = await signedIn(server, org)
    const code = await codeOf(browser, SELF, randomUUID())
    const { answer } = await server.ctx.db.transaction().execute(async (tx) => {
      await tx
        .updateTable('admin')
        .set({ passwordModifiedAt: new Date(1) })
        .where('id', '=', org.adminId)
        .execute()
      const asked = callAs(browser, server, `POST ${SELF}`, { code })
      await untilWaiting(server, 1)
      return { answer: asked }
    })
    expect((await answer).status).toBe(401)
    expect((await identities()).filter(({ adminId }) => adminId === org.adminId)).toEqual([])
  })

  it('is refused to accounts that an identity provider manages', async () => {
    const org = await server.addOrg()
    const set = { ssoId: randomUUID(), ssoSubject: 'somebody' }
    const browser = await signedIn(server, org)
    await server.ctx.db.updateTable('admin').set(set).where('id', '=', org.adminId).execute()
    expect((await callAs(browser, server, `GET ${SELF}`)).status).toBe(403)
    expect((await callAs(browser, server, `POST ${SELF}`, { code: 'any' })).status).toBe(403)
  })
})

describe('login', () => {
  it('opens a session of the linked account', async () => {
    const org = await server.addOrg()
    await link(org, 'bert')
    const browser = openBrowser()
    const begun = await callAs(browser, server, `GET ${LOGIN}`)
    expect(begun).toEqual({ status: 200, body: { client_id: 'signalbox', authorization_url: expect.any(String) } })
    const code = JSON.parse((await agree(browser, begun.body.authorization_url, 'bert')).text)
    expect(await callAs(browser, server, `POST ${LOGIN}`, code)).toEqual({ status: 200, body: {} })
    expect((await callAs(browser, server, 'GET /self')).body.admin_id).toBe(org.adminId)
    expect(await newestLog(org)).toMatchObject({ admin_id: org.adminId, message: 'Login by OAuth: acme' })
  })

  it('neither creates an account nor finds one by its address', async () => {
    const admins = () => server.ctx.db.selectFrom('admin').select('id').execute()
    const before = await admins()
    const browser = openBrowser()
    const code = await codeOf(browser, LOGIN, server.org.email)
    const refused = await callAs(browser, server, `POST ${LOGIN}`, { code })
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'access_denied', error_description: expect.stringMatching(/No account/) },
    })
    expect(browser.cookie(server.url, 'sessionid')).toBeUndefined()
    expect(await admins()).toEqual(before)
  })

  it('does not find an account that is deleted meanwhile', async () => {
    const org = await server.addOrg()
    const subject = randomUUID()
    await link(org, subject)
    const browser = openBrowser()
    const code = await codeOf(browser, LOGIN, subject)
    const { answer } = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('admin').select('id').where('id', '=', org.adminId).forUpdate().execute()
      const asked = callAs(browser, server, `POST ${LOGIN}`, { code })
      await untilWaiting(server, 1)
      await tx.deleteFrom('admin').where('id', '=', org.adminId).execute()
      return { answer: asked }
    })
    expect(await answer).toMatchObject({ status: 400, body: { error: 'access_denied' } })
  })

  it('still requires the second factor', async () => {
    const org = await server.addOrg()
    await link(org, 'carl')
    await server.ctx.db.updateTable('admin').set({ totpSince: new Date() }).where('id', '=', org.adminId).execute()
    const browser = openBrowser()
    const code = await codeOf(browser, LOGIN, 'carl')
    expect(await callAs(browser, server, `POST ${LOGIN}`, { code })).toEqual({
      status: 200,
      body: { email: org.email, two_factor_required: true, two_factor_passed: false },
    })
    expect((await callAs(browser, server, `GET /orgs/${org.orgId}/sites`)).status).toBe(401)
    expect((await callAs(browser, server, `GET ${SELF}`)).status).toBe(401)
    expect((await newestLog(org)).message).toBe('Login by OAuth: acme, two factor still missing')
  })

  it('leaves an organization closed that requires a second factor', async () => {
    const org = await server.addOrg()
    await link(org, 'cora')
    const policy = { password_policy: { enabled: true, requires_two_factor_auth: true } }
    expect((await server.call('PUT', `/orgs/${org.orgId}/setting`, { as: org, body: policy })).status).toBe(200)
    const browser = openBrowser()
    const code = await codeOf(browser, LOGIN, 'cora')
    expect((await callAs(browser, server, `POST ${LOGIN}`, { code })).body).toEqual({})
    expect((await callAs(browser, server, `GET /orgs/${org.orgId}`)).status).toBe(403)
  })

  it('opens a session for a script whose user signs in with a browser', async () => {
    await link(await server.addOrg(), 'dora')
    const begun = await callByScript(server, 'GET', LOGIN)
    const body = JSON.parse((await agree(openBrowser(), begun.body.authorization_url, 'dora')).text)
    expect(await callByScript(server, 'POST', LOGIN, { body })).toEqual({ status: 200, body: {} })
  })
})

describe('a denial', () => {
  it.each([SELF, LOGIN])('is reported to the client that posts the code: %s', async (path) => {
    const browser = await signedIn(server)
    const { body } = await callAs(browser, server, `GET ${path}`)
    const page = await cancel(browser, body.authorization_url)
    expect(page.status).toBe(200)
    expect(await callAs(browser, server, `POST ${path}`, JSON.parse(page.text))).toMatchObject({
      status: 400,
      body: { error: 'access_denied', error_description: expect.any(String) },
    })
  })
})

describe('forward', () => {
  it('redirects the browser there with the code', async () => {
    const browser = await signedIn(server)
    const forward = 'https://portal.example.com/done?step=2#top'
    const { body } = await callAs(browser, server, `GET ${SELF}?forward=${encodeURIComponent(forward)}`)
    const page = await agree(browser, body.authorization_url, 'emil', (next) => next.protocol === 'https:')
    expect(page.status).toBe(302)
    expect(page.location).toMatch(/^https:\/\/portal\.example\.com\/done\?step=2&code=[\w-]{43}#top$/)
  })

  it.each([
    'https://portal.example.com.evil.test/',
    'https://portal.example.com@evil.test/',
    'http://portal.example.com/',
    'https://portal.example.com:8443/',
    '//evil.test/',
    '/relative',
    'javascript:alert(1)',
    String.raw`https://portal.example.com\@evil.test/`,
    'http://127.0.0.1:9/',
  ])("can't be %s", async (forward) => {
    for (const path of [SELF, LOGIN]) {
      const answer = await server.call('GET', `${path}?forward=${encodeURIComponent(forward)}`)
      expect(answer, path).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('Invalid field forward: ') },
      })
    }
  })
})

describe('unknown providers', () => {
  it.each([
    ['GET', '/self/oauth/other'],
    ['POST', '/self/oauth/other'],
    ['DELETE', '/self/oauth/other'],
    ['GET', '/login/oauth/other'],
    ['POST', '/login/oauth/other'],
    ['DELETE', '/login/oauth/other'],
    ['GET', '/login/oauth/__proto__'],
  ])('are not found: %s %s', async (method, path) => {
    const proof = path.startsWith('/self') ? { password: server.org.password } : {}
    const answer = await server.call(method, path, method === 'POST' ? { body: { code: 'any', ...proof } } : {})
    expect(answer).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
  })
})
