import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Browser, createBrowser, isEmptyAnswer } from '../support/peers/browser.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { enrolSecondFactor } from '../support/peers/second-factor.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

const MINUTE_MS = 60_000

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
  clock.advance(MINUTE_MS)
  org = await server.addOrg()
  browser = createBrowser(server)
  await browser.login(org.email, org.password)
})

const privilegeIn = ({ orgId }: TestOrg) => ({
  orgId,
  id: randomUUID(),
  scope: 'org' as const,
  role: 'admin' as const,
  siteId: null,
  sitegroupId: null,
  views: null,
})

describe('an organization that requires a second factor', () => {
  const password_policy = { enabled: true, requires_two_factor_auth: true }
  const requireIn = (of: TestOrg) =>
    server.call('PUT', `/orgs/${of.orgId}/setting`, { as: of, body: { password_policy } })
  const refusal = { status: 403, body: { detail: expect.stringContaining('requires two factor authentication') } }

  it('is closed to sessions and tokens from before until they have one', async () => {
    const site = await server.call('POST', `/orgs/${org.orgId}/sites`, { as: org, body: { name: 'Here' } })
    expect((await requireIn(org)).status).toBe(200)
    for (const path of [`/orgs/${org.orgId}`, `/sites/${site.body.id}`]) {
      expect(await browser.call('GET', path)).toMatchObject(refusal)
      expect(await server.call('GET', path, { as: org })).toMatchObject(refusal)
    }
    const authorization = `Basic ${Buffer.from(`${org.email}:${org.password}`).toString('base64')}`
    const byBasic = (path: string) => server.call('GET', path, { as: null, headers: { authorization } })
    expect(await byBasic(`/orgs/${org.orgId}`)).toMatchObject(refusal)
    await enrolSecondFactor(browser, clock)
    expect((await browser.call('GET', `/sites/${site.body.id}`)).status).toBe(200)
    // The token was created with only the password.
    expect(await server.call('GET', `/orgs/${org.orgId}`, { as: org })).toMatchObject(refusal)
    clock.advance(1000)
    const created = await browser.call('POST', '/self/apitokens', { name: 'new' })
    const as = { ...org, token: created.body.key }
    expect((await server.call('GET', `/orgs/${org.orgId}`, { as })).status).toBe(200)
  })

  it('admits whom it invites once they have one, and they accept without one', async () => {
    const guest = await server.addOrg('Guest')
    const body = { email: guest.email, privileges: [{ scope: 'org', role: 'read' }] }
    expect((await server.call('POST', `/orgs/${org.orgId}/invites`, { as: org, body })).status).toBe(200)
    expect((await requireIn(org)).status).toBe(200)
    const invited = createBrowser(server)
    await invited.login(guest.email, guest.password)
    const token = tokenIn(await waitForMail(server.dataDir, guest.email))
    expect((await invited.call('POST', `/invite/verify/${token}`)).status).toBe(200)
    expect(await invited.call('GET', `/orgs/${org.orgId}`)).toMatchObject(refusal)
    expect((await invited.call('GET', `/orgs/${guest.orgId}`)).status).toBe(200)
    await enrolSecondFactor(invited, clock)
    expect((await invited.call('GET', `/orgs/${org.orgId}`)).status).toBe(200)
  })

  it('locks no person out of another one, and can be left', async () => {
    const trap = await server.addOrg('Trap')
    await server.ctx.db
      .insertInto('privilege')
      .values({ ...privilegeIn(trap), adminId: org.adminId })
      .execute()
    expect((await requireIn(trap)).status).toBe(200)
    const login = createBrowser(server)
    expect(await login.login(org.email, org.password)).toSatisfy(isEmptyAnswer)
    for (const call of [
      (method: string, path: string) => login.call(method, path),
      (method: string, path: string) => server.call(method, path, { as: org }),
    ] as const) {
      expect((await call('GET', `/orgs/${org.orgId}`)).status).toBe(200)
      expect(await call('GET', `/orgs/${trap.orgId}`)).toMatchObject(refusal)
    }
    expect((await login.call('DELETE', `/self/orgs/${trap.orgId}`)).status).toBe(200)
    expect((await login.call('GET', `/orgs/${trap.orgId}`)).status).toBe(404)
    expect((await login.call('DELETE', `/self/orgs/${trap.orgId}`)).status).toBe(404)
    expect(await login.call('DELETE', `/self/orgs/${org.orgId}`)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('without an admin') },
    })
  })
})
