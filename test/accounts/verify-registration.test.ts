import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sweepRegistrations } from '../../src/accounts/registration/sweep.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { type Pressed, openPage } from '../support/peers/page.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

const HOUR_MS = 3600e3

let clock: TestClock
let server: TestServer
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
})
afterAll(() => server.close())

const newEmail = () => `${randomUUID()}@example.test`
const people = { first_name: 'Ada', last_name: 'Lovelace', org_name: 'Engines' }

/** @returns The token of the `count`th mail to the address. */
async function register(email: string, password: string, count = 1): Promise<string> {
  const body = { ...people, email, password }
  expect(await server.call('POST', '/register', { as: null, body })).toMatchObject({ status: 200 })
  return tokenIn(await waitForMail(server.dataDir, email, count))
}

const verify = (token: string): Promise<Answer> => server.call('POST', `/register/verify/${token}`, { as: null })
const login = (email: string, password: string) =>
  server.call('POST', '/login', { as: null, body: { email, password } })
const accountsOf = (email: string) =>
  server.ctx.db.selectFrom('admin').select('id').where('email', '=', email).execute()

describe('verifying', () => {
  it('works once', async () => {
    const token = await register(newEmail(), 'a horse of another colour')
    expect((await verify(token)).status).toBe(200)
    const again = await verify(token)
    expect(again).toMatchObject({ status: 400, body: { detail: 'already registered' } })
    expect(again.headers.getSetCookie()).toEqual([])
  })

  it('works once for concurrent requests, with one link or several', async () => {
    const email = newEmail()
    const tokens = [
      await register(email, 'the first of passwords', 1),
      await register(email, 'the second of passwords', 2),
      await register(email, 'the third of passwords', 3),
    ]
    const answers = await Promise.all([...tokens, ...tokens, ...tokens].map(verify))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const others = answers.filter(({ status }) => status !== 200)
    expect(others.map(({ status, body }) => ({ status, body }))).toEqual(
      others.map(() => ({ status: 400, body: { detail: 'already registered' } })),
    )
    expect(await accountsOf(email)).toHaveLength(1)
    expect(
      await server.ctx.db
        .selectFrom('privilege')
        .select('id')
        .where('adminId', '=', (await accountsOf(email))[0]?.id ?? '')
        .execute(),
    ).toHaveLength(1)
  })

  it('works for 24 hours; an expired link is reported as such for a month', async () => {
    const email = newEmail()
    const inTime = await register(newEmail(), 'a horse of another colour')
    clock.advance(24 * HOUR_MS - 1)
    expect((await verify(inTime)).status).toBe(200)
    const late = await register(email, 'a horse of another colour')
    clock.advance(24 * HOUR_MS)
    expect(await verify(late)).toMatchObject({ status: 400, body: { detail: 'expired' } })
    await sweepRegistrations(server.ctx)
    expect((await verify(late)).status).toBe(400)
    clock.advance(30 * 24 * HOUR_MS + 1)
    await sweepRegistrations(server.ctx)
    expect((await verify(late)).status).toBe(404)
    expect(await accountsOf(email)).toEqual([])
    expect(await server.ctx.db.selectFrom('mailSent').selectAll().execute()).toEqual([])
  })

  it.each(['nope', 'x'.repeat(200), '%00', "'"])('refuses the token %s', async (token) => {
    const answer = await verify(token)
    expect([400, 404]).toContain(answer.status)
    expect(answer.body.detail).toEqual(expect.any(String))
    if (token === 'nope') expect(answer).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
  })

  it('fails if the operator has created the account meanwhile', async () => {
    const email = newEmail()
    const token = await register(email, 'a horse of another colour')
    const { db } = server.ctx
    const person = { id: randomUUID(), firstName: '', lastName: '', createdAt: clock.now() }
    await db
      .insertInto('admin')
      .values({ ...person, email, passwordHash: 'made elsewhere' })
      .execute()
    expect(await verify(token)).toMatchObject({ status: 400, body: { detail: 'already registered' } })
    expect(await db.selectFrom('privilege').select('id').where('adminId', '=', person.id).execute()).toEqual([])
  })

  it('changes nothing if it fails halfway', async () => {
    const email = newEmail()
    const token = await register(email, 'a horse of another colour')
    const { db } = server.ctx
    await db
      .updateTable('pendingRegistration')
      .set({
        doc: documentText({ first_name: 'A', last_name: 'B', org_name: null, account_only: false, profile: {} }),
      })
      .where('email', '=', email)
      .execute()
    expect((await verify(token)).status).toBe(500)
    expect(await accountsOf(email)).toEqual([])
  })
})

describe('pre-hijacking', () => {
  it("gives the account to whose link is used, and ends the others' registrations", async () => {
    const victim = newEmail()
    const attackers = await register(victim, 'known to the attacker', 1)
    const own = await register(victim, 'known to the victim', 2)
    expect((await verify(own)).status).toBe(200)
    expect((await verify(attackers)).body).toEqual({ detail: 'already registered' })
    const kept = server.ctx.db.selectFrom('pendingRegistration').select(['passwordHash', 'doc'])
    const forgotten = { passwordHash: '', doc: {} }
    expect(await kept.where('email', '=', victim).execute()).toEqual([forgotten, forgotten])
    expect((await login(victim, 'known to the attacker')).status).toBe(400)
    expect((await login(victim, 'known to the victim')).status).toBe(200)
  })

  it('stores no token and no password', async () => {
    const email = newEmail()
    const token = await register(email, 'a horse of another colour')
    const row = await server.ctx.db
      .selectFrom('pendingRegistration')
      .selectAll()
      .where('email', '=', email)
      .executeTakeFirst()
    expect(row?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(JSON.stringify(row)).not.toMatch(/colour/)
    expect(JSON.stringify(row)).not.toContain(token)
  })
})

describe('the page behind the link', () => {
  const open = (query: string, method = 'GET') => fetch(`${server.url}/verify/register${query}`, { method })

  it('changes nothing when it is opened', async () => {
    const email = newEmail()
    const token = await register(email, 'a horse of another colour')
    const link = /http\S+/.exec((await waitForMail(server.dataDir, email)).text ?? '')?.[0] ?? ''
    expect(link).toBe(`${server.url}/verify/register?token=${token}`)
    for (const method of ['GET', 'HEAD', 'GET']) expect((await open(`?token=${token}`, method)).status).toBe(200)
    for (const method of ['GET', 'HEAD']) {
      const answer = await fetch(`${server.url}/api/v1/register/verify/${token}`, { method })
      expect(answer.status).toBe(405)
    }
    expect(await accountsOf(email)).toEqual([])
    expect((await verify(token)).status).toBe(200)
  })

  it('is the same for every token except for its nonce', async () => {
    const token = await register(newEmail(), 'a horse of another colour')
    const plain = async (query: string) => (await (await open(query)).text()).replaceAll(/nonce="[^"]+"/g, '')
    expect(await plain(`?token=${token}`)).toBe(await plain('?token=<script>alert(1)</script>'))
    expect(await plain('')).toBe(await plain(`?token=${token}`))
  })

  it('loads nothing from other servers and sends its URL to none', async () => {
    const answer = await open('?token=x')
    const text = await answer.text()
    // Its only link is one to the console.
    expect(text.match(/\b(?:src|href)=\S+/g)).toEqual(['href="/">Open'])
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const policy = answer.headers.get('content-security-policy') ?? ''
    const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    expect(text).toContain(`<script nonce="${nonce}">`)
    expect(policy).toMatch(/default-src 'none'.*connect-src 'self'.*frame-ancestors 'none'/)
    expect((await open('?token=x')).headers.get('content-security-policy')).not.toBe(policy)
  })

  it('completes the registration with its password', async () => {
    const email = newEmail()
    const password = 'a horse of another colour'
    const token = await register(email, password)
    expect(await press('?token=nope', password)).toMatchObject({ said: 'This link is not valid.' })
    const ready = expect.stringMatching(/^Your account is ready/)
    expect(await press(`?token=${token}`, password)).toMatchObject({ said: ready, leadsOn: true })
    expect((await press(`?token=${token}`, password)).said).toMatch(/^This address has an account already/)
    expect(await accountsOf(email)).toHaveLength(1)
  })

  it('creates no account with a password that somebody else has registered for the address', async () => {
    const email = newEmail()
    const squatted = await register(email, 'known to the squatter', 1)
    const own = await register(email, 'known to the owner', 2)
    expect(await press(`?token=${squatted}`, 'known to the owner')).toEqual({
      said: expect.stringMatching(/^This is not the password/),
      again: true,
      leadsOn: false,
    })
    expect(await accountsOf(email)).toEqual([])
    expect((await press(`?token=${own}`, 'known to the owner')).said).toMatch(/^Your account is ready/)
    expect((await login(email, 'known to the squatter')).status).toBe(400)
    expect((await verify(squatted)).status).toBe(400)
  })

  it('limits guesses at the password', async () => {
    const token = await register(newEmail(), 'a horse of another colour')
    const guess = (password: string) =>
      server.call('POST', `/register/verify/${token}`, { as: null, body: { password } })
    for (let tries = 0; tries < 5; tries += 1) expect((await guess(`guess ${tries}`)).status).toBe(400)
    expect((await guess('a horse of another colour')).status).toBe(429)
  })

  async function press(query: string, password: string): Promise<Pressed> {
    const page = await openPage(`${server.url}/verify/register${query}`, { password })
    return page.press()
  }

  it("can't be replaced by a form of another site", async () => {
    const email = newEmail()
    const token = await register(email, 'a horse of another colour')
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
      const answer = await fetch(`${server.url}/api/v1/register/verify/${token}`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: 'a=b',
      })
      expect(answer.status).toBe(415)
      expect(answer.headers.getSetCookie()).toEqual([])
    }
    expect(await accountsOf(email)).toEqual([])
  })
})
