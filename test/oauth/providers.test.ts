import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import type { OauthProvider } from '../../src/accounts/parts.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type Browser, openBrowser } from './browser.ts'
import { type HostileProvider, startHostileProvider } from './hostile-provider.ts'
import { callAs, callByScript, signedIn } from './person.ts'
import { closeServer, listen } from './real-provider.ts'
import { createOffsetClock } from '../support/test-clock.ts'

const clock = createOffsetClock()
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  clock.offsetMs = 0
  for (const close of closing.splice(0).reverse()) await close()
})

async function startServer(provider: OauthProvider): Promise<TestServer> {
  const server = await startTestServer(clock, { oauthProviders: [provider] })
  closing.push(() => server.close())
  return server
}

async function startOpenId(name: string): Promise<HostileProvider> {
  const provider = await startHostileProvider(name)
  closing.push(() => provider.close())
  return provider
}

async function startHttp(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const http: Server = createServer(answer)
  closing.push(() => closeServer(http))
  return listen(http)
}

/** Our code, from a provider that redirects without a prompt. */
async function codeOf(browser: Browser, server: TestServer, path: string): Promise<string> {
  const { body } = await callAs(browser, server, `GET ${path}`)
  const page = await browser.follow(body.authorization_url)
  expect(page.status, page.text).toBe(200)
  return JSON.parse(page.text).code
}

async function link(server: TestServer, name: string) {
  const browser = await signedIn(server)
  const path = `/self/oauth/${name}`
  return callAs(browser, server, `POST ${path}`, { code: await codeOf(browser, server, path) })
}

it('the providers that a server is set up for are known before anybody signs in', async () => {
  const provider = await startOpenId('azure')
  const server = await startServer(provider.settings)
  expect((await server.call('GET', '/login/oauth', { as: null })).body).toEqual({ providers: ['azure'] })
})

describe('azure', () => {
  it('identifies people by tenant and object, whatever the subject', async () => {
    const provider = await startOpenId('azure')
    const server = await startServer(provider.settings)
    provider.fault = { claims: { tid: 'tenant', oid: 'object' } }
    expect(await link(server, 'azure')).toMatchObject({ status: 200, body: { id: 'tenant.object' } })
    provider.subject = 'of another application'
    const browser = openBrowser()
    const code = await codeOf(browser, server, '/login/oauth/azure')
    expect((await callAs(browser, server, 'POST /login/oauth/azure', { code })).status).toBe(200)
  })

  it('is refused if it does not name both', async () => {
    const provider = await startOpenId('azure')
    const server = await startServer(provider.settings)
    provider.fault = { claims: { oid: 'object' } }
    expect(await link(server, 'azure')).toMatchObject({ status: 400, body: { error: 'invalid_token' } })
  })
})

describe('github', () => {
  interface Github {
    user: { status: number; body: unknown }
    token: unknown
    iss: string | null
    readonly seen: { url: string; authorization: string | undefined; form: URLSearchParams }[]
  }

  async function startGithub() {
    const github: Github = {
      user: { status: 200, body: { id: 4711, login: 'octo', email: 'owner@example.test' } },
      token: { access_token: 'gho', token_type: 'bearer', scope: '' },
      iss: null,
      seen: [],
    }
    const issuer = await startHttp((request, response) => {
      void textOf(request).then((text) => {
        const url = new URL(request.url ?? '/', 'http://github.test')
        const form = new URLSearchParams(text)
        github.seen.push({ url: url.pathname, authorization: request.headers.authorization, form })
        response.setHeader('content-type', 'application/json; charset=utf-8')
        if (url.pathname === '/login/oauth/authorize') {
          const location = new URL(url.searchParams.get('redirect_uri') ?? '')
          location.searchParams.set('code', 'of-github')
          location.searchParams.set('state', url.searchParams.get('state') ?? '')
          if (github.iss !== null) location.searchParams.set('iss', github.iss)
          response.writeHead(302, { location: location.href }).end()
        } else if (url.pathname === '/login/oauth/access_token') response.end(JSON.stringify(github.token))
        else if (url.pathname === '/api/v3/user')
          response.writeHead(github.user.status).end(JSON.stringify(github.user.body))
        else response.writeHead(404).end('{}')
      })
    })
    const settings = { name: 'github', clientId: 'id', clientSecret: 'secret', issuer, acceptRawCodes: false }
    return { github, issuer, server: await startServer(settings) }
  }

  it('is linked by the numeric id, with PKCE', async () => {
    const { github, issuer, server } = await startGithub()
    github.iss = `${issuer}/login/oauth`
    expect(await link(server, 'github')).toMatchObject({ status: 200, body: { id: '4711' } })
    expect(Object.fromEntries(github.seen[1]?.form ?? [])).toMatchObject({
      client_id: 'id',
      client_secret: 'secret',
      code: 'of-github',
      code_verifier: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: `${server.url}/oauth/github/callback`,
    })
    expect(github.seen[2]).toMatchObject({ url: '/api/v3/user', authorization: 'Bearer gho' })
    // Another person has taken over the login name and the address.
    github.user.body = { id: 4712, login: 'octo', email: server.org.email }
    const browser = openBrowser()
    const code = await codeOf(browser, server, '/login/oauth/github')
    expect((await callAs(browser, server, 'POST /login/oauth/github', { code })).body.error).toBe('access_denied')
  })

  it.each<[string, Partial<Pick<Github, 'user' | 'token'>>, string]>([
    ['its error with status 200', { token: { error: 'bad_verification_code' } }, 'bad_verification_code'],
    ['no token', { token: {} }, 'invalid_token'],
    ['no user', { user: { status: 401, body: { message: 'Bad credentials' } } }, 'invalid_token'],
    ['a user without an id', { user: { status: 200, body: { login: 'octo' } } }, 'invalid_token'],
    ['an id that is text', { user: { status: 200, body: { id: '4711' } } }, 'invalid_token'],
  ])('links nothing for %s', async (_what, wrong, error) => {
    const { github, server } = await startGithub()
    Object.assign(github, wrong)
    expect(await link(server, 'github')).toMatchObject({ status: 400, body: { error } })
  })

  it('is refused if the redirect names another issuer', async () => {
    const { github, server } = await startGithub()
    github.iss = 'https://github.com.evil.test/login/oauth'
    const browser = await signedIn(server)
    const { body } = await callAs(browser, server, 'GET /self/oauth/github')
    expect((await browser.follow(body.authorization_url)).status).toBe(400)
  })
})

describe('codes of the provider itself', () => {
  it('are accepted from scripts if the operator allows it, but never from browsers', async () => {
    const provider = await startOpenId('raw')
    const server = await startServer({ ...provider.settings, acceptRawCodes: true })
    // Another program requested the code, without our nonce.
    provider.fault = { claims: { nonce: undefined } }
    const headers = { authorization: `Token ${server.org.token}` }
    const link = { body: { code: 'made-elsewhere', password: server.org.password } }
    expect((await server.call('POST', '/self/oauth/raw', link)).body.error).toBe('invalid_grant')
    expect((await callByScript(server, 'POST', '/self/oauth/raw', { ...link, headers })).status).toBe(200)
    expect(
      (await server.call('POST', '/login/oauth/raw', { body: { code: 'made-elsewhere' }, as: null })).body.error,
    ).toBe('invalid_grant')
    expect((await callByScript(server, 'POST', '/login/oauth/raw', { body: { code: 'made-elsewhere' } })).status).toBe(
      200,
    )
  })
})

describe('logins that begin and never end', () => {
  it('are limited for each address', async () => {
    const provider = await startOpenId('begun')
    const server = await startServer(provider.settings)
    const begin = () => server.call('GET', '/login/oauth/begun', { as: null })
    for (let tries = 0; tries < 30; tries += 1) expect((await begin()).status).toBe(200)
    const refused = await begin()
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('made-up codes', () => {
  it('are limited for each address', async () => {
    const provider = await startOpenId('guessed')
    const server = await startServer(provider.settings)
    const guess = () => server.call('POST', '/login/oauth/guessed', { as: null, body: { code: 'made up' } })
    const answers = await Promise.all(Array.from({ length: 31 }, guess))
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(30)
    expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/)
    clock.offsetMs = 60_000
    expect((await guess()).status).toBe(400)
  })
})

describe('a failing provider', () => {
  const down = { name: 'down', clientId: 'id', clientSecret: 'secret', acceptRawCodes: false }
  const unavailable = { status: 503, body: { error: 'temporarily_unavailable', detail: expect.any(String) } }

  it.each<[string, (request: IncomingMessage, response: ServerResponse) => void]>([
    ['is broken', (_request, response) => response.writeHead(500).end()],
    ['hangs up', (request) => request.socket.destroy()],
    [
      'floods',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ issuer: 'x'.repeat(2_000_000) }))
      },
    ],
  ])('is distinguished from one that refuses: it %s', async (_what, answer) => {
    const server = await startServer({ ...down, issuer: await startHttp(answer) })
    expect(await server.call('GET', '/login/oauth/down', { as: null })).toMatchObject(unavailable)
  })

  it('is not waited for forever, whether it never answers or trickles', async () => {
    const issuer = await startHttp((request, response) => {
      if (request.url?.startsWith('/trickling'))
        response.writeHead(200, { 'content-type': 'application/json' }).write('{')
    })
    const silent = await startServer({ ...down, issuer })
    const trickling = await startServer({ ...down, issuer: `${issuer}/trickling` })
    const calls = [silent, trickling].map((server) => server.call('GET', '/login/oauth/down', { as: null }))
    expect(await Promise.all(calls)).toMatchObject([unavailable, unavailable])
  })

  it('is not asked again by every request', async () => {
    const asked = { times: 0 }
    const issuer = await startHttp((_request, response) => {
      asked.times += 1
      response.writeHead(500).end()
    })
    const server = await startServer({ ...down, issuer })
    const get = () => server.call('GET', '/login/oauth/down', { as: null })
    await Promise.all([get(), get(), get()])
    expect(asked.times).toBe(1)
    clock.offsetMs = 10_000
    await get()
    expect(asked.times).toBe(2)
  })

  it.each<[string, Record<string, unknown>]>([
    ['another issuer', { issuer: 'https://accounts.google.com' }],
    ['no issuer', { issuer: undefined }],
    ['a script as an endpoint', { authorization_endpoint: 'javascript:alert(1)' }],
    ['an endpoint without TLS', { authorization_endpoint: 'http://provider.test/authorize' }],
    ['no endpoint', { authorization_endpoint: undefined }],
    ['a token endpoint without TLS', { token_endpoint: 'http://provider.test/token' }],
    ['a key set without TLS', { jwks_uri: 'http://provider.test/jwks' }],
  ])('is refused with %s in its metadata', async (_what, metadata) => {
    const provider = await startOpenId('odd')
    const server = await startServer(provider.settings)
    provider.fault = { metadata }
    expect(await server.call('GET', '/login/oauth/odd', { as: null })).toMatchObject(unavailable)
  })

  it('may fail for a while once its metadata is known, and is asked again in time', async () => {
    const provider = await startOpenId('brief')
    const server = await startServer(provider.settings)
    const get = () => server.call('GET', '/login/oauth/brief', { as: null })
    expect((await get()).status).toBe(200)
    provider.fault = { metadata: { authorization_endpoint: `${provider.settings.issuer}/moved` } }
    expect((await get()).body.authorization_url).toContain('/authorize')
    clock.offsetMs = 3600e3
    expect((await get()).body.authorization_url).toContain('/moved')
    provider.fault = { metadata: { issuer: 'https://elsewhere.test' } }
    clock.offsetMs = 2 * 3600e3
    expect((await get()).body.authorization_url).toContain('/moved')
    clock.offsetMs = 26 * 3600e3
    expect((await get()).status).toBe(503)
  })

  it('that fails between redirect and code is reported', async () => {
    const provider = await startOpenId('late')
    const server = await startServer(provider.settings)
    const browser = await signedIn(server)
    const code = await codeOf(browser, server, '/self/oauth/late')
    provider.fault = { token: { status: 502, body: {} } }
    expect(await callAs(browser, server, 'POST /self/oauth/late', { code })).toMatchObject(unavailable)
  })
})
