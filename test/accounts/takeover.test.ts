import type { Email } from 'postal-mime'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RealProvider, agree, startRealProvider } from '../oauth/real-provider.ts'
import { openBrowser } from '../oauth/browser.ts'
import { callByScript } from '../oauth/person.ts'
import { type Browser, codeAt, createBrowser } from '../support/peers/browser.ts'
import { tokenIn } from '../support/peers/mails.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type Smtp, startSmtp } from '../support/peers/smtp.ts'
import { waitUntil } from '../support/wait-until.ts'
import { createOffsetClock } from '../support/test-clock.ts'

const MINUTE_MS = 60_000
const newPassword = 'a horse of another colour'

// The provider's certificates and codes use the real time.
const clock = createOffsetClock()
let smtp: Smtp
let provider: RealProvider
let server: TestServer
beforeAll(async () => {
  smtp = await startSmtp()
  provider = await startRealProvider('acme')
  server = await startTestServer(clock, { oauthProviders: [provider.settings] }, smtp.url)
  provider.serve(server.url)
})
afterAll(async () => {
  await server.close()
  await provider.close()
  await smtp.close()
})

let org: TestOrg
let browser: Browser
beforeEach(async () => {
  clock.offsetMs += MINUTE_MS
  org = await server.addOrg()
  browser = createBrowser(server)
  expect((await browser.login(org.email, org.password)).status).toBe(200)
})

const readAll = [{ scope: 'org', role: 'read' }]
const byToken = (key: string) => server.call('GET', '/self', { as: { ...org, token: key } })
const basic = () => ({
  authorization: `Basic ${Buffer.from(`${org.email}:${org.password}`).toString('base64')}`,
})

/** Waits for the mail to the owner with that subject. */
const mailOf = (subject: string): Promise<Email> =>
  waitUntil(subject, async () => {
    const mine = smtp.mails.filter(({ to }) => to?.[0]?.address === org.email)
    return mine.find((mail) => mail.subject === subject) ?? null
  })

async function mint(name: string): Promise<string> {
  const { status, body } = await browser.call('POST', '/self/apitokens', { name })
  expect(status).toBe(200)
  return body.key
}

/** Signs in at the provider and returns our code for the link. */
async function codeOf(authorization: Record<string, string>, subject: string): Promise<{ code: string }> {
  const { body } = await callByScript(server, 'GET', '/self/oauth/acme', { headers: authorization })
  return JSON.parse((await agree(openBrowser(), body.authorization_url, subject)).text) as { code: string }
}

async function linkAs(subject: string): Promise<void> {
  const headers = basic()
  const body = await codeOf(headers, subject)
  expect(await callByScript(server, 'POST', '/self/oauth/acme', { headers, body })).toMatchObject({ status: 200 })
}

async function loginBy(subject: string): Promise<number> {
  const visitor = openBrowser()
  const { body } = await callByScript(server, 'GET', '/login/oauth/acme')
  const code = JSON.parse((await agree(visitor, body.authorization_url, subject)).text) as { code: string }
  return (await callByScript(server, 'POST', '/login/oauth/acme', { body: code })).status
}

describe('what an intruder left behind', () => {
  /** Creates a session, two tokens of the account, one of its organization, and an identity. */
  async function leaveBehind(subject: string) {
    const intruder = createBrowser(server)
    await intruder.login(org.email, org.password)
    const keys = [await mint('nightly export'), await mint('http://evil.test/click <b>')]
    const ofOrg = await browser.call('POST', `/orgs/${org.orgId}/apitokens`, { name: 'terraform', privileges: readAll })
    await linkAs(subject)
    expect(await loginBy(subject)).toBe(200)
    for (const key of keys) expect((await byToken(key)).status).toBe(200)
    return { intruder, keys: [...keys, org.token], orgKey: ofOrg.body.key as string }
  }

  async function expectEnded({ intruder, keys, orgKey }: Awaited<ReturnType<typeof leaveBehind>>, subject: string) {
    expect((await intruder.call('GET', '/self')).status).toBe(401)
    for (const key of keys) expect((await byToken(key)).status).toBe(401)
    expect(await loginBy(subject)).toBe(400)
    // Tokens of the organization don't belong to the account.
    expect((await byToken(orgKey)).status).toBe(200)
    const { text = '', html = '' } = await mailOf('Your password was changed')
    expect(text).toContain('"nightly export"')
    expect(text).toContain(`"bootstrap" (${org.token.slice(0, 4)}...${org.token.slice(-4)})`)
    expect(text).toContain('unlinked: acme.')
    expect(text).toMatch(/still work: "terraform" \(.{11}\) of Test\. /)
    // The name of a token must not put words in our mails.
    expect(text + html).not.toMatch(/evil\.test|<b>/)
    const owner = createBrowser(server)
    await owner.login(org.email, newPassword)
    const { body } = await owner.call('GET', `/orgs/${org.orgId}/logs`)
    const ended = { api_tokens: expect.arrayContaining(['nightly export', 'bootstrap']), oauth_providers: ['acme'] }
    expect(body.results).toContainEqual(
      expect.objectContaining({
        message: expect.stringMatching(/^(Change|Recover) password$/),
        before: expect.objectContaining(ended),
      }),
    )
  }

  it('ends with a change of the password, except the session that changes it', async () => {
    const left = await leaveBehind('by-change')
    const change = { password: newPassword, old_password: org.password }
    expect((await browser.call('PUT', '/self', change)).status).toBe(200)
    expect((await browser.call('GET', '/self')).body).toMatchObject({ email: org.email, oauth_acme: false })
    expect((await browser.call('GET', '/self/apitokens')).body).toEqual([])
    await expectEnded(left, 'by-change')
  })

  it('ends with a recovery', async () => {
    const left = await leaveBehind('by-recovery')
    await server.call('POST', '/recover', { as: null, body: { email: org.email } })
    const mail = await mailOf('Choose a new password')
    expect(mail.text).toContain('API tokens')
    const reset = await createBrowser(server).call('POST', `/recover/verify/${tokenIn(mail)}`, {
      password: newPassword,
    })
    expect(reset.status).toBe(200)
    expect((await browser.call('GET', '/self')).status).toBe(401)
    await expectEnded(left, 'by-recovery')
  })

  it('continues after any other change of the account', async () => {
    const { keys } = await leaveBehind('by-name')
    expect((await browser.call('PUT', '/self', { first_name: 'Ada' })).status).toBe(200)
    for (const key of keys) expect((await byToken(key)).status).toBe(200)
    expect(await loginBy('by-name')).toBe(200)
  })
})

describe('a recent proof', () => {
  const needsProof = { status: 403, body: { detail: expect.stringMatching(/password/) } }
  const mintPaths = () => ['/self/apitokens', `/orgs/${org.orgId}/apitokens`]
  const bodyOf = (path: string, more: object = {}) => ({
    name: 'x',
    ...(path.startsWith('/orgs') && { privileges: readAll }),
    ...more,
  })

  it('is needed to create a token in a session: a sign-in within 15 minutes, or the password', async () => {
    clock.offsetMs += 15 * MINUTE_MS - 5000
    for (const path of mintPaths()) expect((await browser.call('POST', path, bodyOf(path))).status).toBe(200)
    clock.offsetMs += 6000
    for (const path of mintPaths()) {
      expect(await browser.call('POST', path, bodyOf(path))).toMatchObject(needsProof)
      expect(await browser.call('POST', path, bodyOf(path, { password: 'a guess' }))).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining('Invalid field password: '), reason: 'is wrong' },
      })
      const { status, body } = await browser.call('POST', path, bodyOf(path, { password: org.password }))
      expect(status).toBe(200)
      expect(JSON.stringify(body)).not.toContain(org.password)
    }
    const kept = await server.ctx.db.selectFrom('accountLog').selectAll().where('adminId', '=', org.adminId).execute()
    expect(JSON.stringify(kept)).not.toContain(org.password)
  })

  it('can be a second factor that is given again', async () => {
    const { body } = await browser.call('GET', '/self/two_factor/token')
    const code = () => codeAt(body.two_factor_secret, clock.now())
    expect((await browser.call('POST', '/self/two_factor/verify', { two_factor: code() })).status).toBe(200)
    clock.offsetMs += 16 * MINUTE_MS
    expect(await browser.call('POST', '/self/apitokens', {})).toMatchObject(needsProof)
    expect((await browser.call('POST', '/login/two_factor', { two_factor: code() })).status).toBe(200)
    expect((await browser.call('POST', '/self/apitokens', {})).status).toBe(200)
  })

  it('is counted from the second factor if that completed the login', async () => {
    const { body } = await browser.call('GET', '/self/two_factor/token')
    const code = () => codeAt(body.two_factor_secret, clock.now())
    await browser.call('POST', '/self/two_factor/verify', { two_factor: code() })
    const slow = createBrowser(server)
    await slow.login(org.email, org.password)
    clock.offsetMs += 14 * MINUTE_MS
    expect((await slow.call('POST', '/login/two_factor', { two_factor: code() })).status).toBe(200)
    clock.offsetMs += 14 * MINUTE_MS
    expect((await slow.call('POST', '/self/apitokens', {})).status).toBe(200)
  })

  it('can be HTTP Basic', async () => {
    for (const path of mintPaths())
      expect((await server.call('POST', path, { as: null, headers: basic(), body: bodyOf(path) })).status).toBe(200)
  })

  it("can't be a token of the account, which creates no other token without the password", async () => {
    const post = (body: object) => server.call('POST', '/self/apitokens', { as: org, body })
    expect(await post({ name: 'another' })).toMatchObject(needsProof)
    expect((await post({ name: 'another', password: org.password })).status).toBe(200)
    // Published clients hold a token and create tokens of the organization with it.
    const path = `/orgs/${org.orgId}/apitokens`
    expect((await server.call('POST', path, { as: org, body: bodyOf(path) })).status).toBe(200)
  })

  it('is needed to link a provider, and without it the code is not used up', async () => {
    const token = { authorization: `Token ${org.token}` }
    const body = await codeOf(token, 'with-password')
    const link = (more: object = {}) =>
      callByScript(server, 'POST', '/self/oauth/acme', { headers: token, body: { ...body, ...more } })
    expect(await link()).toMatchObject(needsProof)
    expect(await link({ password: 'a guess' })).toMatchObject({ status: 400 })
    expect(await link({ password: org.password })).toMatchObject({ status: 200, body: { id: 'with-password' } })
  })
})
