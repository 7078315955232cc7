import { hash } from '@node-rs/argon2'
import { describe, expect, it } from 'vitest'
import { createBrowser, isEmptyAnswer } from '../support/peers/browser.ts'
import { useBrowser } from '../support/peers/use-browser.ts'
import { waitUntil } from '../support/wait-until.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const desk = useBrowser({ isSignedIn: false })

const setSetting = (body: unknown) => desk.server.call('PUT', `/orgs/${desk.org.orgId}/setting`, { as: desk.org, body })

describe('login', () => {
  it('opens a new session each time, whatever cookie the request has', async () => {
    desk.browser.cookies.set('sessionid', 'chosen-by-an-attacker').set('csrftoken', 'chosen too')
    expect(await desk.browser.login(desk.org.email, desk.org.password)).toSatisfy(isEmptyAnswer)
    const first = desk.browser.cookies.get('sessionid')
    const firstCsrf = desk.browser.cookies.get('csrftoken')
    expect(first).not.toBe('chosen-by-an-attacker')
    await desk.browser.login(desk.org.email, desk.org.password)
    expect(desk.browser.cookies.get('sessionid')).not.toBe(first)
    expect(desk.browser.cookies.get('csrftoken')).not.toBe(firstCsrf)
    expect((await desk.browser.call('GET', '/self')).status).toBe(200)
  })

  it("accepts only JSON, which a form of another site can't send", async () => {
    const text = `email=${desk.org.email}&password=${desk.org.password}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await desk.server.call('POST', '/login', { as: null, body: text, headers })
    expect(answer.status).toBe(415)
  })

  it('stores neither the cookie nor the CSRF token', async () => {
    await desk.browser.login(desk.org.email, desk.org.password)
    const rows = await desk.server.ctx.db
      .selectFrom('session')
      .selectAll()
      .where('adminId', '=', desk.org.adminId)
      .execute()
    const stored = JSON.stringify(rows)
    for (const value of desk.browser.cookies.values()) expect(stored).not.toContain(value)
  })

  it('gives the same reply to an unknown address, a wrong password and a pending registration', async () => {
    const pending = `pending-${desk.org.email}`
    const names = { first_name: 'A', last_name: 'B', org_name: 'C' }
    await desk.server.call('POST', '/register', {
      as: null,
      body: { email: pending, password: desk.org.password, ...names },
    })
    const answers = [
      await desk.browser.login(desk.org.email, 'wrong'),
      await desk.browser.login(`unknown-${desk.org.email}`, desk.org.password),
      await desk.browser.login(pending, desk.org.password),
      await desk.browser.login(`  ${desk.org.email.toUpperCase()}`, 'wrong'),
    ]
    for (const { status, body } of answers) {
      expect(status).toBe(400)
      expect(body).toEqual(answers[0]?.body)
    }
    expect(desk.browser.cookies.size).toBe(0)
  })

  it.each(['an account', 'no account'])('limits guesses at %s without locking it', async (what) => {
    const email = what === 'an account' ? desk.org.email : `unknown-${desk.org.email}`
    for (let i = 0; i < 5; i += 1) expect((await desk.browser.login(email, `guess ${i}`)).status).toBe(400)
    const refused = await desk.browser.login(email, desk.org.password)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(refused.body).toEqual({ detail: 'Too Many Request. Too many failed logins.' })
    desk.clock.advance(30_000)
    expect((await desk.browser.login(email, desk.org.password)).status).toBe(what === 'an account' ? 200 : 400)
  })

  it('limits bursts of guesses like sequences', async () => {
    const guesses = Array.from({ length: 20 }, (_, i) => createBrowser(desk.server).login(desk.org.email, `guess ${i}`))
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 400)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(15)
  })

  it('delays the guesser, and not a browser from which the owner has signed in', async () => {
    expect((await desk.browser.login(desk.org.email, desk.org.password)).status).toBe(200)
    const device = desk.browser.cookies.get('deviceid') ?? ''
    const guessAs = async (value: string, password: string): Promise<number> => {
      const other = createBrowser(desk.server)
      other.cookies.set('deviceid', value)
      return (await other.login(desk.org.email, password)).status
    }
    for (let i = 0; i < 5; i += 1) expect(await guessAs('', `guess ${i}`)).toBe(400)
    const forged = ['', `${device}x`, device.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))]
    for (const value of forged) expect(await guessAs(value, 'guess 5')).toBe(429)
    for (let i = 0; i < 5; i += 1) expect(await guessAs(device, `guess ${i}`)).toBe(400)
    expect(await guessAs(device, 'guess 5')).toBe(429)
    desk.clock.advance(30_000)
    expect(await guessAs(device, desk.org.password)).toBe(200)
  })

  it('counts HTTP Basic among the guesses', async () => {
    const basic = (password: string) => {
      const authorization = `Basic ${Buffer.from(`${desk.org.email}:${password}`).toString('base64')}`
      return desk.server.call('GET', '/self', { as: null, headers: { authorization } })
    }
    const many = await Promise.all(Array.from({ length: 20 }, () => basic(desk.org.password)))
    expect(many.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    for (let i = 0; i < 5; i += 1) expect((await basic(`guess ${i}`)).status).toBe(401)
    expect((await basic('guess 6')).status).toBe(429)
    expect((await desk.browser.login(desk.org.email, 'guess 7')).status).toBe(429)
  })

  it('limits guesses by HTTP Basic from one address over all accounts', async () => {
    const basic = (email: string, password: string, srcIp = '') => {
      const authorization = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`
      return desk.server.call('GET', '/self', { as: null, headers: { authorization, 'x-forwarded-for': srcIp } })
    }
    expect((await basic(desk.org.email, desk.org.password)).status).toBe(200)
    const statuses: number[] = []
    for (let i = 0; i < 31; i += 1) statuses.push((await basic(`nobody-${i}@example.test`, 'x', `10.0.0.${i}`)).status)
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 401), 429])
    expect((await desk.browser.login('nobody@example.test', 'x')).status).toBe(429)
    // A caller who was just admitted from that address is admitted again.
    expect((await basic(desk.org.email, desk.org.password)).status).toBe(200)
    const other = await desk.server.addOrg()
    expect((await basic(other.email, other.password)).status).toBe(429)
    desk.clock.advance(MINUTE_MS)
    expect((await basic(other.email, other.password)).status).toBe(200)
  })

  it('serves a caller with known HTTP Basic credentials before callers that guess', async () => {
    const answered: string[] = []
    const basic = async (email: string, password: string) => {
      const authorization = `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`
      const { status } = await desk.server.call('GET', '/self', { as: null, headers: { authorization } })
      answered.push(email)
      return status
    }
    expect(await basic(desk.org.email, desk.org.password)).toBe(200)
    answered.length = 0
    // The server of a test verifies each pair of hash and password once, so the guesses differ.
    const guesses = Array.from({ length: 25 }, (_, i) => basic(`nobody-${i}@example.test`, `guess ${i}`))
    expect(await basic(desk.org.email, desk.org.password)).toBe(200)
    expect(await Promise.all(guesses)).toEqual(Array.from({ length: 25 }, () => 401))
    expect(answered.indexOf(desk.org.email)).toBeLessThan(20)
  })

  it('ignores a claimed client address', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 31; i += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${i}`, forwarded: `for=203.0.113.${i}` }
      const body = { email: `nobody-${i}@example.test`, password: 'x' }
      statuses.push((await desk.server.call('POST', '/login', { as: null, body, headers })).status)
    }
    expect(statuses.at(-1)).toBe(429)
  })

  it('limits guesses from one address over all accounts', async () => {
    const statuses: number[] = []
    for (let i = 0; i < 31; i += 1) statuses.push((await desk.browser.login(`nobody-${i}@example.test`, 'x')).status)
    expect(statuses.filter((status) => status === 400)).toHaveLength(30)
    expect(statuses.at(-1)).toBe(429)
    desk.clock.advance(MINUTE_MS)
    expect((await desk.browser.login(desk.org.email, desk.org.password)).status).toBe(200)
  })

  it('shows failed logins to the owner', async () => {
    expect((await desk.server.call('GET', '/self/login_failures', { as: desk.org })).body).toMatchObject({
      email: desk.org.email,
      num_attempts: 0,
      src_ips: [],
    })
    await desk.browser.login(desk.org.email, 'wrong')
    const failures = await waitUntil('the failure is recorded', async () => {
      const { body } = await desk.server.call('GET', '/self/login_failures', { as: desk.org })
      return body.num_attempts === 1 && body
    })
    const at = Math.floor(desk.clock.now().getTime() / 1000)
    expect(failures).toMatchObject({ last_failure_at: at, src_ips: ['127.0.0.1'], scr_ips: ['127.0.0.1'] })
    const own = await desk.server.call('GET', '/self/logs', { as: desk.org })
    expect(own.body.results).toContainEqual(expect.objectContaining({ message: 'Login failed' }))
    // An organization has no right to see who tries to sign in as one of its members.
    const { body } = await desk.server.call('GET', `/orgs/${desk.org.orgId}/logs`, { as: desk.org })
    expect(JSON.stringify(body.results)).not.toContain('Login failed')
  })

  it('shows wrong passwords of HTTP Basic to the owner too', async () => {
    const authorization = `Basic ${Buffer.from(`${desk.org.email.toUpperCase()}:wrong`).toString('base64')}`
    const headers = { authorization, 'user-agent': 'guesser/1' }
    expect((await desk.server.call('GET', '/self', { as: null, headers })).status).toBe(401)
    const failures = await waitUntil('the failure is recorded', async () => {
      const { body } = await desk.server.call('GET', '/self/login_failures', { as: desk.org })
      return body.num_attempts === 1 && body
    })
    expect(failures).toMatchObject({ src_ips: ['127.0.0.1'], user_agents: ['guesser/1'] })
  })

  it('replaces an outdated hash', async () => {
    const outdated = await hash(desk.org.password, { memoryCost: 8192, timeCost: 1, parallelism: 1 })
    const ofAdmin = () => desk.server.ctx.db.selectFrom('admin').selectAll().where('id', '=', desk.org.adminId)
    await desk.server.ctx.db
      .updateTable('admin')
      .set({ passwordHash: outdated })
      .where('id', '=', desk.org.adminId)
      .execute()
    expect((await desk.browser.login(desk.org.email, desk.org.password)).status).toBe(200)
    const { passwordHash } = await ofAdmin().executeTakeFirstOrThrow()
    expect(passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect((await createBrowser(desk.server).login(desk.org.email, desk.org.password)).status).toBe(200)
  })

  it('closes the organization alone to a password that is older than it allows', async () => {
    expect((await setSetting({ password_policy: { enabled: true, expiry_in_days: 30 } })).status).toBe(200)
    expect((await desk.browser.login(desk.org.email, desk.org.password)).status).toBe(200)
    desk.clock.advance(31 * DAY_MS)
    const late = createBrowser(desk.server)
    expect((await late.login(desk.org.email, desk.org.password)).status).toBe(200)
    const refusal = { status: 403, body: { detail: expect.stringContaining('requires a newer password') } }
    expect(await late.call('GET', `/orgs/${desk.org.orgId}`)).toMatchObject(refusal)
    const authorization = `Basic ${Buffer.from(`${desk.org.email}:${desk.org.password}`).toString('base64')}`
    const byBasic = (path: string) => desk.server.call('GET', path, { as: null, headers: { authorization } })
    expect((await byBasic('/self')).status).toBe(200)
    expect(await byBasic(`/orgs/${desk.org.orgId}`)).toMatchObject(refusal)
    const changed = { password: 'another good password', old_password: desk.org.password }
    expect((await late.call('PUT', '/self', changed)).status).toBe(200)
    expect((await late.call('GET', `/orgs/${desk.org.orgId}`)).status).toBe(200)
  })
})

describe('lookup', () => {
  it('gives the same reply for every address', async () => {
    const lookup = (email: string) => desk.server.call('POST', '/login/lookup', { as: null, body: { email } })
    expect(await lookup(desk.org.email)).toSatisfy(isEmptyAnswer)
    expect((await lookup(desk.org.email)).body).toEqual((await lookup('nobody@example.test')).body)
  })
})

describe('sessions', () => {
  it('ends after the time that the organization sets', async () => {
    await desk.server.call('PUT', `/orgs/${desk.org.orgId}`, { as: desk.org, body: { session_expiry: 10 } })
    await desk.browser.login(desk.org.email, desk.org.password)
    expect((await desk.browser.call('GET', '/self')).body.session_expiry).toBe(10)
    desk.clock.advance(10 * MINUTE_MS)
    expect((await desk.browser.call('GET', '/self')).status).toBe(401)
  })

  it('ends when idle, and lasts while it is used', async () => {
    await setSetting({ ui_idle_timeout: 5 })
    await desk.browser.login(desk.org.email, desk.org.password)
    for (let i = 0; i < 10; i += 1) {
      desk.clock.advance(4 * MINUTE_MS)
      expect((await desk.browser.call('GET', '/self')).status).toBe(200)
    }
    desk.clock.advance(7 * MINUTE_MS)
    expect((await desk.browser.call('GET', '/self')).status).toBe(401)
    await setSetting({ ui_idle_timeout: 0 })
    // The session has ended: it is not merely suspended.
    expect((await desk.browser.call('GET', '/self')).status).toBe(401)
  })

  it('records its use at most once a minute', async () => {
    await desk.browser.login(desk.org.email, desk.org.password)
    const lastSeen = async () => {
      const rows = desk.server.ctx.db.selectFrom('session').select('lastSeenAt').where('adminId', '=', desk.org.adminId)
      return (await rows.executeTakeFirstOrThrow()).lastSeenAt?.getTime()
    }
    const first = await lastSeen()
    desk.clock.advance(59_000)
    await desk.browser.call('GET', '/self')
    expect(await lastSeen()).toBe(first)
    desk.clock.advance(1000)
    await desk.browser.call('GET', '/self')
    expect(await lastSeen()).toBe(desk.clock.now().getTime())
  })

  it('refuses the CSRF token of another session', async () => {
    await desk.browser.login(desk.org.email, desk.org.password)
    const other = createBrowser(desk.server)
    await other.login(desk.org.email, desk.org.password)
    desk.browser.cookies.set('csrftoken', other.cookies.get('csrftoken') ?? '')
    expect((await desk.browser.call('PUT', '/self', { first_name: 'Eve' })).status).toBe(403)
  })

  it('prefers the Authorization header to the cookies', async () => {
    const other = await desk.server.addOrg()
    await desk.browser.login(desk.org.email, desk.org.password)
    const cookie = `sessionid=${desk.browser.cookies.get('sessionid')}`
    const { body } = await desk.server.call('GET', '/self', { as: other, headers: { cookie } })
    expect(body.email).toBe(other.email)
  })

  it('logs out: the cookie stops working, and a URL to go to is refused', async () => {
    await desk.browser.login(desk.org.email, desk.org.password)
    const kept = new Map(desk.browser.cookies)
    const forwarded = await desk.browser.call('POST', '/logout?forward=https://evil.test', '')
    expect(forwarded).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field forward: ') },
    })
    expect(await desk.browser.call('POST', '/logout', '')).toSatisfy(isEmptyAnswer)
    expect([...desk.browser.cookies.keys()]).toEqual(['deviceid'])
    for (const [name, value] of kept) desk.browser.cookies.set(name, value)
    expect((await desk.browser.call('GET', '/self')).status).toBe(401)
    const { body } = await desk.server.call('GET', '/self/logs', { as: desk.org })
    expect(body.results.map(({ message }: { message: string }) => message)).toEqual(['Logout', 'Login'])
  })

  it.each([
    ['with a logout URL', { custom_logout_url: 'https://idp.example.test/bye' }],
    ['without a logout URL', {}],
  ])('returns where to go after a logout from an SSO %s', async (_what, more: { custom_logout_url?: string }) => {
    const body = { name: 'idp', idp_type: 'saml', ...more }
    const sso = await desk.server.call('POST', `/orgs/${desk.org.orgId}/ssos`, { as: desk.org, body })
    expect(sso.status).toBe(200)
    await desk.browser.login(desk.org.email, desk.org.password)
    const ofAdmin = desk.server.ctx.db.updateTable('session').where('adminId', '=', desk.org.adminId)
    await ofAdmin.set({ ssoId: sso.body.id }).execute()
    const answer = await desk.browser.call('POST', '/logout', '')
    const { custom_logout_url: url } = more
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(url === undefined ? {} : { forward_url: url })
  })

  it('keeps the session of a cookie sent with other credentials', async () => {
    await desk.browser.login(desk.org.email, desk.org.password)
    const cookie = `sessionid=${desk.browser.cookies.get('sessionid')}`
    const other = await desk.server.addOrg()
    const answer = await desk.server.call('POST', '/logout', { as: other, headers: { cookie }, body: '' })
    expect(answer.status).toBe(200)
    expect((await desk.browser.call('GET', '/self')).status).toBe(200)
  })
})
