import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CaptchaSettings } from '../../src/accounts/parts.ts'
import { mailsTo, waitForMail } from '../support/peers/mails.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'

type Respond = (response: ServerResponse) => void
const json =
  (value: unknown): Respond =>
  (response) =>
    response.end(JSON.stringify(value))

/** The provider's reply to each response; it refuses any other response. */
const behaviours: Readonly<Record<string, Respond>> = {
  solved: json({ success: true }),
  fails: (response) => response.writeHead(500).end('{"success": true}'),
  redirects: (response) => response.writeHead(302, { location: '/elsewhere' }).end('{"success": true}'),
  'hangs up': (response) => response.destroy(),
  'breaks off': (response) => response.write('{"success": true', () => response.destroy()),
  'answers no JSON': (response) => response.end('success'),
  'answers no object': json(true),
  'says success as text': json({ success: 'true' }),
  'says nothing of success': json({ ok: true }),
  floods: (response) => response.end(`${' '.repeat(100_000)}{"success": true}`),
  'does not answer': () => {},
}

/** Simulates the provider of the CAPTCHA, on a real socket. */
let provider: Server
let verifyUrl: string
/** The fields of each request to the provider during a test. */
let asked: URLSearchParams[]
let google: TestServer
let hcaptcha: TestServer
/** Nothing listens at the provider's URL. */
let unreachable: TestServer

beforeAll(async () => {
  provider = createServer((request, response) => {
    void readForm(request).then((fields) => {
      asked.push(fields)
      const respond = behaviours[fields.get('response') ?? ''] ?? json({ success: false })
      respond(response)
    })
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const { port } = provider.address() as AddressInfo
  verifyUrl = `http://127.0.0.1:${port}/siteverify`
  google = await startServer('google', verifyUrl)
  hcaptcha = await startServer('hcaptcha', verifyUrl)
  unreachable = await startServer('google', 'http://127.0.0.1:9/')
})
beforeEach(() => {
  asked = []
})
afterAll(async () => {
  for (const server of [google, hcaptcha, unreachable]) await server.close()
  provider.closeAllConnections()
  await new Promise((resolve) => provider.close(resolve))
})

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return new URLSearchParams(Buffer.concat(parts).toString())
}

function startServer(flavor: CaptchaSettings['flavor'], url: string): Promise<TestServer> {
  const captcha = { flavor, siteKey: 'site-key', secret: 'captcha-secret', verifyUrl: url }
  return startTestServer(undefined, { captcha })
}

const person = { first_name: 'Ada', last_name: 'Lovelace', org_name: 'Engines', password: 'a horse of another colour' }

/** Registers a new address. */
async function register(
  server: TestServer,
  fields: Record<string, unknown>,
): Promise<Answer & { readonly email: string }> {
  const email = `${randomUUID()}@example.test`
  return { email, ...(await server.call('POST', '/register', { as: null, body: { ...person, email, ...fields } })) }
}

const pendingOf = (server: TestServer, email: string) =>
  server.ctx.db.selectFrom('pendingRegistration').select('id').where('email', '=', email).execute()

describe('registration information', () => {
  const info = (server: TestServer, query = '') => server.call('GET', `/register/recaptcha${query}`, { as: null })

  it("says the server's flavor, whatever was asked for, in the spelling of the question", async () => {
    const flavorFor = async (query: string) => (await info(hcaptcha, query)).body
    expect(await flavorFor('')).toEqual({ required: true, flavor: 'hcaptcha', sitekey: 'site-key' })
    for (const query of ['?recaptcha_flavor=google', '?recaptcha_flavor=hcaptcha', '?captcha_flavor=hcaptcha'])
      expect((await flavorFor(query)).flavor, query).toBe('hcaptcha')
    for (const query of ['?recaptcha_flavor=vendor_a', '?captcha_flavor=vendor_a', '?captcha_flavor=vendor_b'])
      expect((await flavorFor(query)).flavor, query).toBe('vendor_b')
    expect((await info(google, '?captcha_flavor=vendor_b')).body.flavor).toBe('vendor_a')
    expect((await info(google, '?captcha_flavor=vendor_c')).status).toBe(400)
    expect(JSON.stringify((await info(google)).body)).not.toContain('secret')
  })
})

describe('a required CAPTCHA', () => {
  it.each([
    ['google', { captcha: 'solved' }],
    ['google', { captcha: 'solved', captcha_flavor: 'vendor_a' }],
    ['google', { recaptcha: 'solved' }],
    ['google', { recaptcha: 'solved', recaptcha_flavor: 'google' }],
    ['hcaptcha', { captcha: 'solved', captcha_flavor: 'vendor_b' }],
    ['hcaptcha', { recaptcha: 'solved', recaptcha_flavor: 'hcaptcha' }],
  ] as const)('of %s accepts %j', async (flavor, fields) => {
    const server = flavor === 'google' ? google : hcaptcha
    const answer = await register(server, fields)
    expect(answer).toMatchObject({ status: 200, body: {} })
    await waitForMail(server.dataDir, answer.email)
    expect(asked.map((fields) => Object.fromEntries(fields))).toEqual([
      {
        ...{ secret: 'captcha-secret', response: 'solved', remoteip: '127.0.0.1' },
        ...(flavor === 'hcaptcha' && { sitekey: 'site-key' }),
      },
    ])
  })

  it.each([
    ['nothing', {}, 0],
    ['an empty answer', { captcha: '' }, 0],
    ['a wrong answer', { captcha: 'guessed' }, 1],
    ["the other provider's answer", { captcha: 'solved', captcha_flavor: 'vendor_b' }, 0],
    ['the other provider in the other spelling', { captcha: 'solved', recaptcha_flavor: 'hcaptcha' }, 0],
  ])('refuses %s', async (_what, fields, questions) => {
    const answer = await register(google, fields)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringMatching(/^Invalid field captcha/) } })
    expect(asked).toHaveLength(questions)
    expect(await pendingOf(google, answer.email)).toEqual([])
    expect(await mailsTo(google.dataDir, answer.email)).toEqual([])
  })

  it("refuses a default flavor that differs from the server's", async () => {
    const answer = await register(hcaptcha, { captcha: 'solved' })
    expect(answer).toMatchObject({ status: 400, body: { reason: 'must be vendor_b (hcaptcha)' } })
  })

  it.each(Object.keys(behaviours).filter((name) => name !== 'solved'))(
    'admits nobody while the provider %s',
    async (captcha) => {
      const answer = await register(google, { captcha })
      expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringContaining('CAPTCHA') } })
      expect(asked).toHaveLength(1)
      expect(await pendingOf(google, answer.email)).toEqual([])
    },
  )

  it("admits nobody while the provider can't be reached", async () => {
    expect((await register(unreachable, { captcha: 'solved' })).status).toBe(503)
  })

  it('is checked before the address is used', async () => {
    const { email } = google.org
    expect((await register(google, { email, captcha: 'guessed' })).status).toBe(400)
    expect(await mailsTo(google.dataDir, email)).toEqual([])
  })
})
