import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { mailsTo, tokenIn, waitForMail } from '../support/peers/mails.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

const HOUR_MS = 3600e3
const password = 'a horse of another colour'

let clock: TestClock
let server: TestServer
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock, { trustedOrigins: ['https://portal.example.test'] })
})
afterAll(() => server.close())
// Each test has its own window of the limit by address.
beforeEach(() => clock.advance(60_000))

const newEmail = () => `${randomUUID()}@example.test`
const people = { first_name: 'Ada', last_name: 'Lovelace', org_name: 'Engines' }

function register(fields: Record<string, unknown>): Promise<Answer> {
  return server.call('POST', '/register', { as: null, body: { ...people, password, ...fields } })
}

/**
 * Registers and reads the mail.
 *
 * @returns The token of the link.
 */
async function registered(fields: Record<string, unknown> & { email: string }): Promise<string> {
  const before = (await mailsTo(server.dataDir, fields.email)).length
  expect(await register(fields)).toMatchObject({ status: 200, body: {} })
  return tokenIn(await waitForMail(server.dataDir, fields.email, before + 1))
}

const verify = (token: string) => server.call('POST', `/register/verify/${token}`, { as: null })
const login = (email: string, secret = password) =>
  server.call('POST', '/login', { as: null, body: { email, password: secret } })

function cookiesOf({ headers }: Answer): { readonly cookie: string; readonly csrf: string } {
  const pairs = headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '')
  const csrf = pairs.find((pair) => pair.startsWith('csrftoken='))?.slice('csrftoken='.length) ?? ''
  return { cookie: pairs.join('; '), csrf }
}

describe('from registration to the first call', () => {
  it('needs only HTTP and the mail', async () => {
    const email = newEmail()
    const address = { city: 'London', country: 'GB', 'street_address 2': '2nd floor', zipcode: 'W1' }
    const token = await registered({ email, ...address, allow_mist: true, no_tracking: true })
    const verified = await verify(token)
    expect(verified).toMatchObject({ status: 200, body: {} })
    const { cookie, csrf } = cookiesOf(verified)
    const self = await server.call('GET', '/self', { as: null, headers: { cookie } })
    expect(self).toMatchObject({
      status: 200,
      body: {
        ...{ email, first_name: 'Ada', last_name: 'Lovelace', no_tracking: true, ...address },
        privileges: [{ scope: 'org', role: 'admin', org_name: 'Engines' }],
      },
    })
    const orgId = self.body.privileges[0].org_id
    const headers = { cookie, 'x-csrftoken': csrf }
    const site = await server.call('POST', `/orgs/${orgId}/sites`, { as: null, headers, body: { name: 'First' } })
    expect(site).toMatchObject({ status: 200, body: { name: 'First' } })
    expect((await server.call('GET', `/orgs/${orgId}`, { as: null, headers })).body.allow_mist).toBe(true)
    expect((await login(email.toUpperCase())).status).toBe(200)
  })

  it('is recorded in the logs of the account and of the organization', async () => {
    const email = newEmail()
    const { cookie } = cookiesOf(await verify(await registered({ email })))
    const self = await server.call('GET', '/self', { as: null, headers: { cookie } })
    const { org_id: orgId } = self.body.privileges[0]
    const logs = await server.call('GET', `/orgs/${orgId}/logs`, { as: null, headers: { cookie } })
    expect(logs.body.results).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: 'register', admin_name: `Ada Lovelace ${email}`, src_ip: '127.0.0.1' }),
        expect.objectContaining({ message: 'Add Org "Engines"', admin_id: self.body.admin_id }),
      ]),
    )
    const kept = await server.ctx.db.selectFrom('accountLog').selectAll().execute()
    expect(JSON.stringify([kept, logs.body])).not.toMatch(/colour|argon2/)
  })

  it('creates no organization if only an account is requested', async () => {
    const { cookie } = cookiesOf(await verify(await registered({ email: newEmail(), account_only: true })))
    const self = await server.call('GET', '/self', { as: null, headers: { cookie } })
    expect(self).toMatchObject({ status: 200, body: { privileges: [], no_tracking: false } })
  })

  it('takes no other fields of an account', async () => {
    const email = newEmail()
    const others = {
      ...{ admin_id: randomUUID(), role: 'admin', privileges: [{ scope: 'org', role: 'admin' }] },
      ...{ org_id: server.org.orgId, via_sso: true, sso_id: randomUUID(), totp_since: 1, password_hash: 'x' },
    }
    for (const [field, value] of Object.entries(others))
      expect((await register({ email, [field]: value })).body.detail).toBe(
        `Invalid field ${field}: is no field of this operation`,
      )
    const token = await registered({ email })
    const { cookie } = cookiesOf(await verify(token))
    const { body } = await server.call('GET', '/self', { as: null, headers: { cookie } })
    expect(body.privileges).toHaveLength(1)
    expect(body.privileges[0].org_id).not.toBe(server.org.orgId)
    expect(body).toMatchObject({ via_sso: false, enable_two_factor: false })
    expect(body).not.toHaveProperty('role')
  })
})

describe('registration information', () => {
  it('says that no CAPTCHA is required if none is configured', async () => {
    const info = (query = '') => server.call('GET', `/register/recaptcha${query}`, { as: null })
    expect(await info()).toMatchObject({ status: 200, body: { required: false, flavor: 'google', sitekey: '' } })
    expect((await info('?captcha_flavor=vendor_b')).body).toMatchObject({ required: false, flavor: 'vendor_b' })
    const sent = { email: newEmail(), captcha: 'whatever', captcha_flavor: 'vendor_b' }
    expect((await register(sent)).status).toBe(200)
  })
})

describe('enumeration', () => {
  it('gives the same reply for a new, a pending and a known address; only the mails differ', async () => {
    const known = server.org.email
    const pending = newEmail()
    await registered({ email: pending })
    const answers = [
      await register({ email: newEmail() }),
      await register({ email: pending }),
      await register({ email: known }),
    ]
    for (const { status, body, headers } of answers) {
      expect({ status, body }).toEqual({ status: 200, body: {} })
      expect(headers.getSetCookie()).toEqual([])
    }
    expect((await waitForMail(server.dataDir, pending, 2)).subject).toBe('Finish your registration')
    const mail = await waitForMail(server.dataDir, known)
    expect(mail.subject).toBe('You already have an account')
    expect(mail.text).not.toContain('token=')
    const rows = await server.ctx.db.selectFrom('pendingRegistration').select('id').where('email', '=', known).execute()
    expect(rows).toEqual([])
  })

  it('refuses a login before verification like one of an unknown address', async () => {
    const email = newEmail()
    await registered({ email })
    const pending = await login(email)
    const unknown = await login(newEmail())
    expect(pending.status).toBe(400)
    expect(pending.body).toEqual(unknown.body)
    const basic = Buffer.from(`${email}:${password}`).toString('base64')
    const byBasic = await server.call('GET', '/self', { as: null, headers: { authorization: `Basic ${basic}` } })
    expect(byBasic.status).toBe(401)
  })
})

describe('mail bombing', () => {
  it('sends at most three mails an hour to an address, however it is spelled, with the usual reply', async () => {
    const email = newEmail()
    for (let count = 0; count < 3; count += 1) await registered({ email })
    const more = await Promise.all([email, email.toUpperCase()].map((spelling) => register({ email: spelling })))
    expect(more.map(({ status, body }) => ({ status, body }))).toEqual([
      { status: 200, body: {} },
      { status: 200, body: {} },
    ])
    const rows = () => server.ctx.db.selectFrom('pendingRegistration').select('id').where('email', '=', email).execute()
    expect(await rows()).toHaveLength(3)
    clock.advance(HOUR_MS)
    await registered({ email })
    expect(await rows()).toHaveLength(4)
    expect(await mailsTo(server.dataDir, email)).toHaveLength(4)
  })

  it('is limited for concurrent requests too', async () => {
    const email = newEmail()
    const answers = await Promise.all(Array.from({ length: 8 }, () => register({ email })))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const sent = await server.ctx.db.selectFrom('pendingRegistration').select('id').where('email', '=', email).execute()
    expect(sent).toHaveLength(3)
  })

  it('is limited for each IP address, whatever addresses it names or claims', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 31; i += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${i}` }
      const body = { ...people, password, email: newEmail() }
      const answer = await server.call('POST', '/register', { as: null, body, headers })
      statuses.push(answer.status)
      if (answer.status === 429) expect(answer.headers.get('retry-after')).toBe('60')
    }
    expect(statuses).toEqual([...Array(30).fill(200), 429])
    clock.advance(60_000)
    expect((await register({ email: newEmail() })).status).toBe(200)
  })

  it('lets no requester choose the words of the mails', async () => {
    const email = newEmail()
    await registered({ email, first_name: 'http://evil.test <b>', org_name: 'http://evil.test' })
    const { text, html, headers, attachments } = await waitForMail(server.dataDir, email)
    expect(`${text}${html}`).not.toContain('evil.test')
    expect(html).not.toMatch(/<img|src=|http-equiv/i)
    expect(`${text}${html}`.match(/https?:\/\/[^/\s"]+/g)?.every((link) => link === server.url)).toBe(true)
    expect(attachments).toEqual([])
    expect(headers.filter(({ key }) => key === 'to')).toHaveLength(1)
  })
})

describe('return_to', () => {
  it.each(['https://portal.example.test/welcome?a=1', 'http://127.0.0.1:9/done'])('redirects to %s', async (target) => {
    const { body } = await verify(await registered({ email: newEmail(), return_to: target }))
    expect(body).toEqual({ return_to: target })
  })

  it.each([
    'https://evil.test/',
    'https://portal.example.test.evil.test/',
    'https://portal.example.test@evil.test/',
    '//evil.test',
    'javascript:alert(1)',
    'http://127.evil.test/',
    '/relative',
  ])('drops %s', async (target) => {
    const email = newEmail()
    const token = await registered({ email, return_to: target })
    const row = await server.ctx.db
      .selectFrom('pendingRegistration')
      .select('doc')
      .where('email', '=', email)
      .executeTakeFirst()
    expect(row?.doc).not.toHaveProperty('return_to')
    expect((await verify(token)).body).toEqual({})
  })
})

describe('bad input', () => {
  it.each([
    ['no address', { email: undefined }],
    ['a malformed address', { email: 'nobody' }],
    ['two addresses', { email: 'a@example.test,b@example.test' }],
    ['a line break in an address', { email: 'a@example.test\r\nBcc: b@example.test' }],
    ['an address of 65 characters', { email: `${'a'.repeat(52)}@example.test` }],
    ['no first name', { first_name: undefined }],
    ['no last name', { last_name: undefined }],
    ['no organization', { org_name: undefined }],
    ['no password', { password: undefined }],
    ['a short password', { password: 'short' }],
    ['a long password', { password: 'x'.repeat(129) }],
    ['a common password', { password: 'password123' }],
    ['its own address as the password', { password: 'someone@example.test', email: 'someone@example.test' }],
    ['an unknown flavor', { captcha_flavor: 'vendor_c' }],
    ['a number as a name', { first_name: 1 }],
    ['a string as a boolean', { account_only: 'yes' }],
  ])('refuses %s', async (_what, fields) => {
    const answer = await register({ email: newEmail(), ...fields })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.any(String) } })
  })

  it('accepts an address of 64 characters', async () => {
    expect((await register({ email: `${'a'.repeat(51)}@example.test` })).status).toBe(200)
  })

  it('accepts only JSON', async () => {
    const answer = await server.call('POST', '/register', {
      as: null,
      body: new URLSearchParams({ ...people, email: newEmail(), password }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(answer.status).toBe(415)
  })
})
