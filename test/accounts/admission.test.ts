import { randomBytes, randomUUID } from 'node:crypto'
import { uuidv7 } from 'uuidv7'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AccountSettings } from '../../src/accounts/parts.ts'
import { addMs } from '../../src/platform/time/clock.ts'
import { sha256 } from '../../src/platform/secrets.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { mailsTo, tokenIn, waitForMail } from '../support/peers/mails.ts'
import { type Answer, type TestServer, startTestServer } from '../support/servers/server.ts'
import { createTestClock } from '../support/test-clock.ts'

let closed: TestServer
let byInvitation: TestServer
/** Anyone may register, and nobody is tracked by default. */
let open: TestServer
/** The server that a test calls. */
let server: TestServer

beforeAll(async () => {
  const start = (settings: Partial<AccountSettings>) => startTestServer(createTestClock(), settings)
  closed = await start({ registration: 'closed', inviteCodes: ['friend'] })
  byInvitation = await start({ registration: 'invite', inviteCodes: ['friend', 'foe'] })
  open = await start({ gdpr: true })
})
afterAll(async () => {
  for (const server of [closed, byInvitation, open]) await server.close()
})

const newEmail = () => `${randomUUID()}@example.test`
const person = { first_name: 'Ada', last_name: 'Lovelace', org_name: 'Engines', password: 'a horse of another colour' }

function register(fields: Record<string, unknown>): Promise<Answer> {
  return server.call('POST', '/register', { as: null, body: { ...person, email: newEmail(), ...fields } })
}

async function verifyFirst(email: string): Promise<Answer> {
  const token = tokenIn(await waitForMail(server.dataDir, email))
  return server.call('POST', `/register/verify/${token}`, { as: null })
}

async function selfOf({ headers }: Answer): Promise<Answer> {
  const cookie = headers
    .getSetCookie()
    .map((line) => line.split(';', 1)[0])
    .join('; ')
  return server.call('GET', '/self', { as: null, headers: { cookie } })
}

/**
 * Invites to the first organization as its administrator.
 *
 * @returns The mailed token.
 */
async function invite(email: string, { hours = 24 } = {}): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  const { ctx, org } = server
  const at = ctx.clock.now()
  const doc = { hours, privileges: [{ scope: 'org', role: 'read' }] }
  await ctx.db
    .insertInto('invite')
    .values({
      ...{ orgId: org.orgId, id: uuidv7(), email, tokenHash: sha256(token), doc: documentText(doc) },
      ...{ invitedBy: org.adminId, createdAt: at, expiresAt: addMs(at, hours * 3600e3) },
    })
    .execute()
  return token
}

const invitesOf = (email: string) =>
  server.ctx.db.selectFrom('invite').select('id').where('email', '=', email).execute()

describe('closed registration', () => {
  beforeEach(() => {
    server = closed
  })

  it('admits no person, not even with a code', async () => {
    const { email } = server.org
    for (const fields of [{}, { email }, { invite_code: 'friend' }])
      expect(await register(fields)).toMatchObject({ status: 403, body: { detail: 'Registration is closed' } })
    expect(await mailsTo(server.dataDir, email)).toEqual([])
  })

  it('admits people whom an administrator has invited, and nobody else who has the token', async () => {
    const email = newEmail()
    const token = await invite(email)
    expect(await register({ referer_invite_token: token })).toMatchObject({ status: 403 })
    expect((await register({ email, account_only: true, referer_invite_token: token })).status).toBe(200)
    const { privileges } = (await selfOf(await verifyFirst(email))).body
    expect(privileges).toMatchObject([{ org_id: server.org.orgId, role: 'read' }])
    const late = newEmail()
    const old = await invite(late, { hours: 0 })
    expect(await register({ email: late, referer_invite_token: old })).toMatchObject({
      status: 403,
      body: { detail: 'Registration is closed' },
    })
  })
})

describe('registration by invitation', () => {
  beforeEach(() => {
    server = byInvitation
  })

  it('accepts each of the codes', async () => {
    const email = newEmail()
    expect((await register({ email, invite_code: 'foe' })).status).toBe(200)
    expect((await verifyFirst(email)).status).toBe(200)
  })

  it('refuses all other codes with the same reply for a new and a known address', async () => {
    const { email } = server.org
    for (const fields of [
      {},
      { invite_code: 'Friend' },
      { invite_code: '' },
      { referer_invite_token: 'nope' },
      { email },
    ])
      expect(await register(fields)).toMatchObject({
        status: 403,
        body: { detail: 'Registration needs an invitation' },
      })
    expect(await mailsTo(server.dataDir, email)).toEqual([])
  })

  it('accepts the token of an invitation from its address until it expires', async () => {
    const email = newEmail()
    const token = await invite(email)
    expect((await register({ referer_invite_token: token })).status).toBe(403)
    expect((await register({ email: email.toUpperCase(), referer_invite_token: token })).status).toBe(200)
    const old = newEmail()
    expect((await register({ email: old, referer_invite_token: await invite(old, { hours: 0 }) })).status).toBe(403)
  })
})

describe('the token of an invitation', () => {
  beforeEach(() => {
    server = open
  })

  it('grants its privileges once the address is verified', async () => {
    const email = newEmail()
    expect((await register({ email, account_only: true, referer_invite_token: await invite(email) })).status).toBe(200)
    const verified = await verifyFirst(email)
    expect(verified).toMatchObject({ status: 200, body: {} })
    expect(verified.body).toEqual({})
    const { privileges } = (await selfOf(verified)).body
    expect(privileges).toMatchObject([{ org_id: server.org.orgId, scope: 'org', role: 'read' }])
    expect(await invitesOf(email)).toEqual([])
  })

  it('grants nothing to another address, whose account is created nevertheless', async () => {
    const email = newEmail()
    const invited = newEmail()
    await register({ email, account_only: true, referer_invite_token: await invite(invited) })
    const verified = await verifyFirst(email)
    expect(verified).toMatchObject({
      status: 200,
      body: { invite_not_applied: true, detail: expect.any(String) },
    })
    expect((await selfOf(verified)).body.privileges).toEqual([])
    expect(await invitesOf(invited)).toHaveLength(1)
  })

  it.each([
    ['too short', { min_length: 30 }, /at least 30 characters/, 30],
    ['without a special character', { requires_special_char: true }, /special character/, 8],
  ])('grants nothing if the password is %s for the organization', async (_what, policy, detail, minLength) => {
    const path = `/orgs/${server.org.orgId}/setting`
    const setPolicy = (enabled: boolean) =>
      server.call('PUT', path, { body: { password_policy: { enabled, ...policy } } })
    expect((await setPolicy(true)).status).toBe(200)
    const email = newEmail()
    const token = await invite(email)
    await register({ email, referer_invite_token: token })
    await setPolicy(false)
    expect((await verifyFirst(email)).body).toEqual({
      invite_not_applied: true,
      detail: expect.stringMatching(detail),
      min_length: minLength,
    })
    expect(await invitesOf(email)).toHaveLength(1)
  })

  it('is not stored', async () => {
    const email = newEmail()
    const token = await invite(email)
    await register({ email, referer_invite_token: token })
    const rows = await server.ctx.db.selectFrom('pendingRegistration').select('doc').execute()
    expect(JSON.stringify(rows)).not.toContain(token)
  })
})

describe('no_tracking', () => {
  beforeEach(() => {
    server = open
  })

  it.each([
    ['nothing', {}, true],
    ['yes', { no_tracking: true }, true],
    ['no', { no_tracking: false }, false],
  ])('is set to the GDPR default unless the request sets it: %s', async (_what, wish, expected) => {
    const email = newEmail()
    await register({ email, ...wish })
    expect((await selfOf(await verifyFirst(email))).body.no_tracking).toBe(expected)
  })
})
