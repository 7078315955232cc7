import { hash } from '@node-rs/argon2'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Browser, createBrowser, isEmptyAnswer } from '../support/peers/browser.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { waitUntil } from '../support/wait-until.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

let clock: TestClock
let server: TestServer
let org: TestOrg
let browser: Browser
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
})
afterAll(() => server.close())
beforeEach(async () => {
  // Each test has its own window of the limit by address.
  clock.advance(MINUTE_MS)
  org = await server.addOrg()
  browser = createBrowser(server)
})

const setSetting = (body: unknown) => server.call('PUT', `/orgs/${org.orgId}/setting`, { as: org, body })

describe('login', () => {
  it('opens a new session each time, whatever cookie the request has', async () => {
    browser.cookies.set('sessionid', 'chosen-by-an-attacker').set('csrftoken', 'chosen too')
    expect(await browser.login(org.email, org.password)).toSatisfy(isEmptyAnswer)
    const first = browser.cookies.get('sessionid')
    const firstCsrf = browser.cookies.get('csrftoken')
    expect(first).not.toBe('chosen-by-an-attacker')
    await browser.login(org.email, org.password)
    expect(browser.cookies.get('sessionid')).not.toBe(first)
    expect(browser.cookies.get('csrftoken')).not.toBe(firstCsrf)
    expect((await browser.call('GET', '/self')).status).toBe(200)
  })

  it("accepts only JSON, which a form of another site can't send", async () => {
    const text = `email=${org.email}&password=${org.password}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await server.call('POST', '/login', { as: null, body: text, headers })
    expect(answer.status).toBe(415)
  })

  it('stores neither the cookie nor the CSRF token', async () => {
    await browser.login(org.email, org.password)
    const rows = await server.ctx.db.selectFrom('session').selectAll().where('adminId', '=', org.adminId).execute()
    const stored = JSON.stringify(rows)
    for (const value of browser.cookies.values()) expect(stored).not.toContain(value)
  })

  it('gives the same reply to an unknown address, a wrong password and a pending registration', async () => {
    const pending = `pending-${org.email}`
    const names = { first_name: 'A', last_name: 'B', org_name: 'C' }
    await server.call('POST', '/register', { as: null, body: { email: pending, password: org.password, ...names } })
    const answers = [
      await browser.login(org.email, 'wrong'),
      await browser.login(`unknown-${org.email}`, org.password),
      await browser.login(pending, org.password),
      await browser.login(`  ${org.email.toUpperCase()}`, 'wrong'),
    ]
    for (const { status, body } of answers) {
      expect(status).toBe(400)
      expect(body).toEqual(answers[0]?.body)
    }
    expect(browser.cookies.size).toBe(0)
  })

  it.each(['an account', 'no account'])('limits guesses at %s without locking it', async (what) => {
    const email = what === 'an account' ? org.email : `unknown-${org.email}`
    for (let i = 0; i < 5; i += 1) expect((await browser.login(email, `guess ${i}`)).status).toBe(400)
    const refused = await browser.login(email, org.password)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(refused.body).toEqual({ detail: 'Too Many Request. Too many failed logins.' })
    clock.advance(30_000)
    expect((await browser.login(email, org.password)).status).toBe(what === 'an account' ? 200 : 400)
  })

  it('limits bursts of guesses like sequences', async () => {
    const guesses = Array.from({ length: 20 }, (_, i) => createBrowser(server).login(org.email, `guess ${i}`))
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 400)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(15)
  })

  it('delays the guesser, and not a browser from which the owner has signed in', async () => {
    expect((await browser.login(org.email, org.password)).status).toBe(200)
    const device = browser.cookies.get('deviceid') ?? ''
    const guessAs = async (value: string, password: string): Promise<number> => {
      const other = createBrowser(server)
      other.cookies.set('deviceid', value)
      return (await other.login(org.email, password)).status
    }
    for (let i = 0; i < 5; i += 1) expect(await guessAs('', `guess ${i}`)).toBe(400)
    const forged = ['', `${device}x`, device.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))]
    for (const value of forged) expect(await guessAs(value, 'guess 5')).toBe(429)
    for (let i = 0; i < 5; i += 1) expect(await guessAs(device, `guess ${i}`)).toBe(400)
    expect(await guessAs(device, 'guess 5')).toBe(429)
    clock.advance(30_000)
    expect(await guessAs(device, org.password)).toBe(200)
  })

  it('counts HTTP Basic among the guesses', async () => {
    const basic = (password: string) => {
      const authorization = `Basic ${Buffer.from(`${org.email}:${password}`).toString('base64')}`
      return server.call('GET', '/self', { as: null, headers: { authorization } })
    }
    const many = await Promise.all(Array.from({ length: 20 }, () => basic(org.password)))
    expect(many.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    for (let i = 0; i < 5; i += 1) expect((await basic(`guess ${i}`)).status).toBe(401)
    expect((await basic('guess 6')).status).toBe(429)
    expect((await browser.login(org.email, 'guess 7')).status).toBe(429)
  })

  it('limits guesses by HTTP Basic from one address over all accounts', async () => {
    const basic = (email: string, password: string, srcIp = '') => {
      const authorization = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`
      return server.call('GET', '/self', { as: null, headers: { authorization, 'x-forwarded-for': srcIp } })
    }
    expect((await basic(org.email, org.password)).status).toBe(200)
    const statuses: number[] = []
    for (let i = 0; i < 31; i += 1) statuses.push((await basic(`nobody-${i}@example.test`, 'x', `10.0.0.${i}`)).status)
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 401), 429])
    expect((await browser.login('nobody@example.test', 'x')).status).toBe(429)
    // A caller who was just admitted from that address is admitted again.
    expect((await basic(org.email, org.password)).status).toBe(200)
    const other = await server.addOrg()
    expect((await basic(other.email, other.password)).status).toBe(429)
    clock.advance(MINUTE_MS)
    expect((await basic(other.email, other.password)).status).toBe(200)
  })

  it('serves a caller with known HTTP Basic credentials before callers that guess', async () => {
    const answered: string[] = []
    const basic = async (email: string, password: string) => {
      const authorization = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`
      const { status } = await server.call('GET', '/self', { as: null, headers: { authorization } })
      answered.push(email)
      return status
    }
    expect(await basic(org.email, org.password)).toBe(200)
    answered.length = 0
    const guesses = Array.from({ length: 25 }, (_, i) => basic(`nobody-${i}@example.test`, 'x'))
    expect(await basic(org.email, org.password)).toBe(200)
    expect(await Promise.all(guesses)).toEqual(Array.from({ length: 25 }, () => 401))
    expect(answered.indexOf(org.email)).toBeLessThan(20)
  })

  it('ignores a claimed client address', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 31; i += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${i}`, forwarded: `for=203.0.113.${i}` }
      const body = { email: `nobody-${i}@example.test`, password: 'x' }
      statuses.push((await server.call('POST', '/login', { as: null, body, headers })).status)
    }
    expect(statuses.at(-1)).toBe(429)
  })

  it('limits guesses from one address over all accounts', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 31; i += 1) statuses.push((await browser.login(`nobody-${i}@example.test`, 'x')).status)
    expect(statuses.filter((status) => status === 400)).toHaveLength(30)
    expect(statuses.at(-1)).toBe(429)
    clock.advance(MINUTE_MS)
    expect((await browser.login(org.email, org.password)).status).toBe(200)
  })

  it('shows failed logins to the owner', async () => {
    expect((await server.call('GET', '/self/login_failures', { as: org })).body).toMatchObject({
      email: org.email,
      num_attempts: 0,
      src_ips: [],
    })
    await browser.login(org.email, 'wrong')
    const failures = await waitUntil('the failure is recorded', async () => {
      const { body } = await server.call('GET', '/self/login_failures', { as: org })
      return body.num_attempts === 1 && body
    })
    const at = Math.floor(clock.now().getTime() / 1000)
    expect(failures).toMatchObject({ last_failure_at: at, src_ips: ['127.0.0.1'], scr_ips: ['127.0.0.1'] })
    const own = await server.call('GET', '/self/logs', { as: org })
    expect(own.body.results).toContainEqual(expect.objectContaining({ message: 'Login failed' }))
    // An organization has no right to see who tries to sign in as one of its members.
    const { body } = await server.call('GET', `/orgs/${org.orgId}/logs`, { as: org })
    expect(JSON.stringify(body.results)).not.toContain('Login failed')
  })

  it('shows wrong passwords of HTTP Basic to the owner too', async () => {
    const authorization = `Basic ${Buffer.from(`${org.email.toUpperCase()}:wrong`).toString('base64')}`
    const headers = { authorization, 'user-agent': 'guesser/1' }
    expect((await server.call('GET', '/self', { as: null, headers })).status).toBe(401)
    const failures = await waitUntil('the failure is recorded', async () => {
      const { body } = await server.call('GET', '/self/login_failures', { as: org })
      return body.num_attempts === 1 && body
    })
    expect(failures).toMatchObject({ src_ips: ['127.0.0.1'], user_agents: ['guesser/1'] })
  })

  it('replaces an outdated hash', async () => {
    const outdated = await hash(org.password, { memoryCost: 8192, timeCost: 1, parallelism: 1 })
    const ofAdmin = () => server.ctx.db.selectFrom('admin').selectAll().where('id', '=', org.adminId)
    await server.ctx.db.updateTable('admin').set({ passwordHash: outdated }).where('id', '=', org.adminId).execute()
    expect((await browser.login(org.email, org.password)).status).toBe(200)
    const { passwordHash } = await ofAdmin().executeTakeFirstOrThrow()
    expect(passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect((await createBrowser(server).login(org.email, org.password)).status).toBe(200)
  })

  it('closes the organization alone to a password that is older than it allows', async () => {
    expect((await setSetting({ password_policy: { enabled: true, expiry_in_days: 30 } })).status).toBe(200)
    expect((await browser.login(org.email, org.password)).status).toBe(200)
    clock.advance(31 * DAY_MS)
    const late = createBrowser(server)
    expect((await late.login(org.email, org.password)).status).toBe(200)
    const refusal = { status: 403, body: { detail: expect.stringContaining('requires a newer password') } }
    expect(await late.call('GET', `/orgs/${org.orgId}`)).toMatchObject(refusal)
    const authorization = `Basic ${Buffer.from(`${org.email}:${org.password}`).toString('base64')}`
    const byBasic = (path: string) => server.call('GET', path, { as: null, headers: { authorization } })
    expect((await byBasic('/self')).status).toBe(200)
    expect(await byBasic(`/orgs/${org.orgId}`)).toMatchObject(refusal)
    const changed = { password: 'another good password', old_password: org.password }
    expect((await late.call('PUT', '/self', changed)).status).toBe(200)
    expect((await late.call('GET', `/orgs/${org.orgId}`)).status).toBe(200)
  })
})

describe('lookup', () => {
  it('gives the same reply for every address', async () => {
    const lookup = (email: string) => server.call('POST', '/login/lookup', { as: null, body: { email } })
    expect(await lookup(org.email)).toSatisfy(isEmptyAnswer)
    expect((await lookup(org.email)).body).toEqual((await lookup('nobody@example.test')).body)
  })
})

describe('sessions', () => {
  it('ends after the time that the organization sets', async () => {
    await server.call('PUT', `/orgs/${org.orgId}`, { as: org, body: { session_expiry: 10 } })
    await browser.login(org.email, org.password)
    expect((await browser.call('GET', '/self')).body.session_expiry).toBe(10)
    clock.advance(10 * MINUTE_MS)
    expect((await browser.call('GET', '/self')).status).toBe(401)
  })

  it('ends when idle, and lasts while it is used', async () => {
    await setSetting({ ui_idle_timeout: 5 })
    await browser.login(org.email, org.password)
    for (let i = 0; i < 10; i += 1) {
      clock.advance(4 * MINUTE_MS)
      expect((await browser.call('GET', '/self')).status).toBe(200)
    }
    clock.advance(7 * MINUTE_MS)
    expect((await browser.call('GET', '/self')).status).toBe(401)
    await setSetting({ ui_idle_timeout: 0 })
    // The session has ended: it is not merely suspended.
    expect((await browser.call('GET', '/self')).status).toBe(401)
  })

  it('records its use at most once a minute', async () => {
    await browser.login(org.email, org.password)
    const lastSeen = async () => {
      const rows = server.ctx.db.selectFrom('session').select('lastSeenAt').where('adminId', '=', org.adminId)
      return (await rows.executeTakeFirstOrThrow()).lastSeenAt?.getTime()
    }
    const first = await lastSeen()
    clock.advance(59_000)
    await browser.call('GET', '/self')
    expect(await lastSeen()).toBe(first)
    clock.advance(1000)
    await browser.call('GET', '/self')
    expect(await lastSeen()).toBe(clock.now().getTime())
  })

  it('refuses the CSRF token of another session', async () => {
    await browser.login(org.email, org.password)
    const other = createBrowser(server)
    await other.login(org.email, org.password)
    browser.cookies.set('csrftoken', other.cookies.get('csrftoken') ?? '')
    expect((await browser.call('PUT', '/self', { first_name: 'Eve' })).status).toBe(403)
  })

  it('prefers the Authorization header to the cookies', async () => {
    const other = await server.addOrg()
    await browser.login(org.email, org.password)
    const cookie = `sessionid=${browser.cookies.get('sessionid')}`
    const { body } = await server.call('GET', '/self', { as: other, headers: { cookie } })
    expect(body.email).toBe(other.email)
  })

  it('logs out: the cookie stops working, and a URL to go to is refused', async () => {
    await browser.login(org.email, org.password)
    const kept = new Map(browser.cookies)
    const forwarded = await browser.call('POST', '/logout?forward=https://evil.test', '')
    expect(forwarded).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field forward: ') },
    })
    expect(await browser.call('POST', '/logout', '')).toSatisfy(isEmptyAnswer)
    expect([...browser.cookies.keys()]).toEqual(['deviceid'])
    for (const [name, value] of kept) browser.cookies.set(name, value)
    expect((await browser.call('GET', '/self')).status).toBe(401)
    const { body } = await server.call('GET', '/self/logs', { as: org })
    expect(body.results.map(({ message }: { message: string }) => message)).toEqual(['Logout', 'Login'])
  })

  it.each([
    ['with a logout URL', { custom_logout_url: 'https://idp.example.test/bye' }],
    ['without a logout URL', {}],
  ])('returns where to go after a logout from an SSO %s', async (_what, more: { custom_logout_url?: string }) => {
    const body = { name: 'idp', idp_type: 'saml', ...more }
    const sso = await server.call('POST', `/orgs/${org.orgId}/ssos`, { as: org, body })
    expect(sso.status).toBe(200)
    await browser.login(org.email, org.password)
    const ofAdmin = server.ctx.db.updateTable('session').where('adminId', '=', org.adminId)
    await ofAdmin.set({ ssoId: sso.body.id }).execute()
    const answer = await browser.call('POST', '/logout', '')
    const { custom_logout_url: url } = more
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(url === undefined ? {} : { forward_url: url })
  })

  it('keeps the session of a cookie sent with other credentials', async () => {
    await browser.login(org.email, org.password)
    const cookie = `sessionid=${browser.cookies.get('sessionid')}`
    const other = await server.addOrg()
    const answer = await server.call('POST', '/logout', { as: other, headers: { cookie }, body: '' })
    expect(answer.status).toBe(200)
    expect((await browser.call('GET', '/self')).status).toBe(200)
  })
})
