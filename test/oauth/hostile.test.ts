import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type Browser, openBrowser } from './browser.ts'
import { type Fault, type HostileProvider, startHostileProvider } from './hostile-provider.ts'
import { callAs, callByScript, signedIn } from './person.ts'
import { createOffsetClock } from '../support/test-clock.ts'

const clock = createOffsetClock()
let evil: HostileProvider
let honest: HostileProvider
let server: TestServer
beforeAll(async () => {
  evil = await startHostileProvider('evil')
  honest = await startHostileProvider('honest')
  server = await startTestServer(clock, { oauthProviders: [evil.settings, honest.settings] })
})
afterAll(async () => {
  await server.close()
  await evil.close()
  await honest.close()
})
afterEach(async () => {
  evil.fault = {}
  clock.offsetMs = 0
  await server.ctx.db.deleteFrom('oauthIdentity').execute()
})

const SELF = '/self/oauth/evil'
const LOGIN = '/login/oauth/evil'

async function begin(browser: Browser, path: string): Promise<string> {
  const { status, body } = await callAs(browser, server, `GET ${path}`)
  expect(status).toBe(200)
  return body.authorization_url
}

/** The URL to which the provider redirects. */
async function callbackOf(browser: Browser, authorizationUrl: string): Promise<URL> {
  const { location } = await browser.open(authorizationUrl)
  return new URL(location ?? '')
}

/** Our code. */
async function codeOf(browser: Browser, path: string): Promise<string> {
  const page = await browser.open(await callbackOf(browser, await begin(browser, path)))
  expect(page.status, page.text).toBe(200)
  return JSON.parse(page.text).code
}

async function expectNothingLinked(): Promise<void> {
  expect(await server.ctx.db.selectFrom('oauthIdentity').selectAll().execute()).toEqual([])
}

it('links the identity of an honest provider, so that each refusal below has its own reason', async () => {
  const browser = await signedIn(server)
  const answer = await callAs(browser, server, `POST ${SELF}`, { code: await codeOf(browser, SELF) })
  expect(answer).toEqual({ status: 200, body: { action: 'oauth account linked', id: 'mallory' } })
  expect(evil.tokenRequests.at(-1)?.get('code_verifier')).toMatch(/^[\w-]{43}$/)
})

describe('a token', () => {
  const nowS = Math.floor(Date.now() / 1000)
  it.each<[string, Fault]>([
    ['of another issuer', { claims: { iss: 'https://accounts.google.com' } }],
    ['for another client', { claims: { aud: 'another' } }],
    ['for us and others, authorized to another', { claims: { aud: ['signalbox', 'another'], azp: 'another' } }],
    ['with another nonce', { claims: { nonce: 'another' } }],
    ['without a nonce', { claims: { nonce: undefined } }],
    ['that has expired', { claims: { iat: nowS - 7200, exp: nowS - 3600 } }],
    ['without an expiry', { claims: { exp: undefined } }],
    ['without a subject', { claims: { sub: undefined } }],
    ['with a subject that is not a string', { claims: { sub: { toString: 'mallory' } } }],
    ['without a signature', { alg: 'none' }],
    ['signed with our own secret', { alg: 'HS256' }],
    ['signed with a foreign key', { foreignKey: true }],
    ['that is missing', { noIdToken: true }],
    ['answer that is not an object', { token: { status: 200, body: ['any'] } }],
  ])('%s is refused, and nothing linked', async (_what, fault) => {
    const browser = await signedIn(server)
    const code = await codeOf(browser, SELF)
    evil.fault = fault
    const answer = await callAs(browser, server, `POST ${SELF}`, { code })
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'invalid_token', error_description: expect.any(String) },
    })
    await expectNothingLinked()
    evil.fault = {}
    expect((await callAs(browser, server, `POST ${SELF}`, { code })).body.error).toBe('invalid_grant')
  })

  it('refusal of the provider is reported', async () => {
    const browser = await signedIn(server)
    const code = await codeOf(browser, SELF)
    const body = { error: 'invalid_grant', error_description: 'no such code' }
    evil.fault = { token: { status: 400, body } }
    expect(await callAs(browser, server, `POST ${SELF}`, { code })).toMatchObject({ status: 400, body })
    await expectNothingLinked()
  })
})

describe('a redirect', () => {
  it.each<[string, Fault['redirect']]>([
    ['that names another issuer', { iss: 'https://accounts.google.com' }],
    ['without the promised issuer', { iss: null }],
    ['with a state of its own', { state: 'made-up' }],
    ['without a state', { state: null }],
    ['without a code', { code: null }],
    ['with an error of another issuer', { iss: 'https://accounts.google.com', error: 'access_denied' }],
  ])('%s is refused, and its state used up', async (_what, redirect) => {
    const browser = await signedIn(server)
    const authorizationUrl = await begin(browser, SELF)
    evil.fault = redirect === undefined ? {} : { redirect }
    const callback = await callbackOf(browser, authorizationUrl)
    expect((await browser.open(callback)).status).toBe(400)
    if (callback.searchParams.get('state') !== new URL(authorizationUrl).searchParams.get('state')) return
    evil.fault = {}
    expect((await browser.open(await callbackOf(browser, authorizationUrl))).status).toBe(400)
  })

  it('with the state of another flow continues only that flow', async () => {
    const [mine, theirs] = [await signedIn(server), await signedIn(server, await server.addOrg())]
    const [myUrl, theirUrl] = [await begin(mine, SELF), await begin(theirs, SELF)]
    const swapped = await callbackOf(mine, myUrl)
    swapped.searchParams.set('state', new URL(theirUrl).searchParams.get('state') ?? '')
    // Mallory's code with the victim's state, in either browser.
    expect((await mine.open(swapped)).status).toBe(400)
    expect((await theirs.open(swapped)).status).toBe(400)
    await expectNothingLinked()
  })

  it('that is repeated finds its state used', async () => {
    const browser = await signedIn(server)
    const callback = await callbackOf(browser, await begin(browser, SELF))
    expect((await browser.open(callback)).status).toBe(200)
    expect((await browser.open(callback)).status).toBe(400)
  })

  it.each([SELF, LOGIN])('in another browser is refused: %s', async (path) => {
    const mallory = await signedIn(server, await server.addOrg())
    const callback = await callbackOf(mallory, await begin(mallory, path))
    const victim = await signedIn(server)
    expect((await victim.open(callback)).status).toBe(400)
    expect((await openBrowser().open(callback)).status).toBe(400)
  })

  it('is not used up by a HEAD request', async () => {
    const browser = await signedIn(server)
    const callback = await callbackOf(browser, await begin(browser, SELF))
    expect((await browser.open(callback, { method: 'HEAD' })).status).toBe(405)
    expect((await browser.open(callback)).status).toBe(200)
  })

  it('with repeated parameters is malformed', async () => {
    const browser = await signedIn(server)
    const callback = await callbackOf(browser, await begin(browser, SELF))
    callback.searchParams.append('code', 'another')
    expect((await browser.open(callback)).status).toBe(400)
  })

  it('expires after ten minutes', async () => {
    const browser = await signedIn(server)
    const callback = await callbackOf(browser, await begin(browser, SELF))
    clock.offsetMs = 600_000
    expect((await browser.open(callback)).status).toBe(400)
  })

  it('does not pass on its URL and its codes', async () => {
    const browser = await signedIn(server)
    const callback = await callbackOf(browser, await begin(browser, SELF))
    const answer = await fetch(callback)
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })
})

describe('mix-up', () => {
  it("does not take one provider's code for another's", async () => {
    const browser = await signedIn(server)
    const visit = new URL(await begin(browser, SELF))
    // The victim chose evil, which redirects the browser to honest with its own state.
    const detour = new URL(`${honest.settings.issuer}/authorize`)
    detour.search = visit.search
    detour.searchParams.set('redirect_uri', `${server.url}/oauth/honest/callback`)
    const callback = await callbackOf(browser, detour.href)
    expect((await browser.open(callback)).status).toBe(400)
    const atEvil = new URL(await begin(browser, SELF))
    detour.searchParams.set('state', atEvil.searchParams.get('state') ?? '')
    detour.searchParams.set('redirect_uri', `${server.url}/oauth/evil/callback`)
    expect((await browser.open(await callbackOf(browser, detour.href))).status).toBe(400)
    expect(evil.tokenRequests.some((form) => form.get('code') === callback.searchParams.get('code'))).toBe(false)
    await expectNothingLinked()
  })

  it('redeems a code only at its own provider', async () => {
    const browser = await signedIn(server)
    const code = await codeOf(browser, SELF)
    const answer = await callAs(browser, server, 'POST /self/oauth/honest', { code })
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    await expectNothingLinked()
  })

  it('distinguishes the same subject at two providers', async () => {
    honest.subject = evil.subject
    const browser = await signedIn(server)
    const code = await codeOf(browser, '/self/oauth/honest')
    expect((await callAs(browser, server, 'POST /self/oauth/honest', { code })).status).toBe(200)
    const mallory = openBrowser()
    const login = await callAs(mallory, server, `POST ${LOGIN}`, { code: await codeOf(mallory, LOGIN) })
    expect(login).toMatchObject({ status: 400, body: { error: 'access_denied' } })
  })
})

describe('a code', () => {
  it('works once', async () => {
    const browser = await signedIn(server)
    const code = await codeOf(browser, SELF)
    const answers = await Promise.all([1, 2, 3].map(() => callAs(browser, server, `POST ${SELF}`, { code })))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400])
  })

  it('of the same person links only one of two concurrent accounts', async () => {
    for (let round = 0; round < 3; round += 1) {
      const browsers = await Promise.all([1, 2].map(async () => signedIn(server, await server.addOrg())))
      const codes = await Promise.all(browsers.map((browser) => codeOf(browser, SELF)))
      const answers = await Promise.all(
        browsers.map((browser, index) => callAs(browser, server, `POST ${SELF}`, { code: codes[index] })),
      )
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
      await server.ctx.db.deleteFrom('oauthIdentity').execute()
    }
  })

  it('expires after two minutes', async () => {
    const browser = await signedIn(server)
    const code = await codeOf(browser, SELF)
    clock.offsetMs = 120_000
    expect((await callAs(browser, server, `POST ${SELF}`, { code })).body.error).toBe('invalid_grant')
    await expectNothingLinked()
  })

  it('does not work in another session of the same account', async () => {
    const code = await codeOf(await signedIn(server), SELF)
    const other = await signedIn(server)
    expect((await callAs(other, server, `POST ${SELF}`, { code })).body.error).toBe('invalid_grant')
    const code2 = await codeOf(await signedIn(server), SELF)
    const byToken = await server.call('POST', SELF, { body: { code: code2, password: server.org.password } })
    expect(byToken.body.error).toBe('invalid_grant')
    await expectNothingLinked()
  })

  it('of a login does not link, and one of a link does not log in', async () => {
    const browser = await signedIn(server)
    const ofLogin = await codeOf(browser, LOGIN)
    expect((await callAs(browser, server, `POST ${SELF}`, { code: ofLogin })).body.error).toBe('invalid_grant')
    const ofLink = await codeOf(browser, SELF)
    expect((await callAs(browser, server, `POST ${LOGIN}`, { code: ofLink })).body.error).toBe('invalid_grant')
    await expectNothingLinked()
  })

  it('of a login works neither in another browser nor in a script', async () => {
    const mallory = openBrowser()
    const victim = openBrowser()
    // Login CSRF: the victim's browser is made to post mallory's code.
    const injected = await callAs(victim, server, `POST ${LOGIN}`, { code: await codeOf(mallory, LOGIN) })
    expect(injected.body.error).toBe('invalid_grant')
    const stolen = { body: { code: await codeOf(victim, LOGIN) } }
    expect((await callByScript(server, 'POST', LOGIN, stolen)).body.error).toBe('invalid_grant')
  })

  it('of a flow that a script began is not accepted from a browser', async () => {
    const codeOfScript = async () => {
      const { body } = await callByScript(server, 'GET', LOGIN)
      const victim = openBrowser()
      return JSON.parse((await victim.open(await callbackOf(victim, body.authorization_url))).text)
    }
    expect((await callAs(openBrowser(), server, `POST ${LOGIN}`, await codeOfScript())).body.error).toBe(
      'invalid_grant',
    )
    const headers = { origin: 'https://evil.test' }
    const body = await codeOfScript()
    expect((await callByScript(server, 'POST', LOGIN, { body, headers })).body.error).toBe('invalid_grant')
  })

  it('of the provider itself is accepted only if the operator allows it', async () => {
    const browser = await signedIn(server)
    const callback = await callbackOf(browser, await begin(browser, SELF))
    const code = callback.searchParams.get('code') ?? ''
    for (const path of [SELF, LOGIN])
      expect((await callAs(browser, server, `POST ${path}`, { code })).body.error).toBe('invalid_grant')
    expect((await callByScript(server, 'POST', LOGIN, { body: { code } })).body.error).toBe('invalid_grant')
  })
})
