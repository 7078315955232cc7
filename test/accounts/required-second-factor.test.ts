import { describe, expect, it } from 'vitest'
import { createBrowser, isEmptyAnswer } from '../support/peers/browser.ts'
import { tokenIn, waitForMail } from '../support/peers/mails.ts'
import { enrolSecondFactor } from '../support/peers/second-factor.ts'
import { useBrowser } from '../support/peers/use-browser.ts'
import type { TestOrg } from '../support/servers/server.ts'
import { addPrivilege } from '../support/people.ts'

const desk = useBrowser({ isSignedIn: true })

describe('an organization that requires a second factor', () => {
  const password_policy = { enabled: true, requires_two_factor_auth: true }
  const requireIn = (of: TestOrg) =>
    desk.server.call('PUT', `/orgs/${of.orgId}/setting`, { as: of, body: { password_policy } })
  const refusal = { status: 403, body: { detail: expect.stringContaining('requires two factor authentication') } }

  it('is closed to sessions and tokens from before until they have one', async () => {
    const site = await desk.server.call('POST', `/orgs/${desk.org.orgId}/sites`, {
      as: desk.org,
      body: { name: 'Here' },
    })
    expect((await requireIn(desk.org)).status).toBe(200)
    for (const path of [`/orgs/${desk.org.orgId}`, `/sites/${site.body.id}`]) {
      expect(await desk.browser.call('GET', path)).toMatchObject(refusal)
      expect(await desk.server.call('GET', path, { as: desk.org })).toMatchObject(refusal)
    }
    const authorization = `Basic ${Buffer.from(`${desk.org.email}:${desk.org.password}`).toString('base64')}`
    const byBasic = (path: string) => desk.server.call('GET', path, { as: null, headers: { authorization } })
    expect(await byBasic(`/orgs/${desk.org.orgId}`)).toMatchObject(refusal)
    await enrolSecondFactor(desk.browser, desk.clock)
    expect((await desk.browser.call('GET', `/sites/${site.body.id}`)).status).toBe(200)
    // The token was created with only the password.
    expect(await desk.server.call('GET', `/orgs/${desk.org.orgId}`, { as: desk.org })).toMatchObject(refusal)
    desk.clock.advance(1000)
    const created = await desk.browser.call('POST', '/self/apitokens', { name: 'new' })
    const as = { ...desk.org, token: created.body.key }
    expect((await desk.server.call('GET', `/orgs/${desk.org.orgId}`, { as })).status).toBe(200)
  })

  it('admits whom it invites once they have one, and they accept without one', async () => {
    const guest = await desk.server.addOrg('Guest')
    const body = { email: guest.email, privileges: [{ scope: 'org', role: 'read' }] }
    expect((await desk.server.call('POST', `/orgs/${desk.org.orgId}/invites`, { as: desk.org, body })).status).toBe(200)
    expect((await requireIn(desk.org)).status).toBe(200)
    const invited = createBrowser(desk.server)
    await invited.login(guest.email, guest.password)
    const token = tokenIn(await waitForMail(desk.server.dataDir, guest.email))
    expect((await invited.call('POST', `/invite/verify/${token}`)).status).toBe(200)
    expect(await invited.call('GET', `/orgs/${desk.org.orgId}`)).toMatchObject(refusal)
    expect((await invited.call('GET', `/orgs/${guest.orgId}`)).status).toBe(200)
    await enrolSecondFactor(invited, desk.clock)
    expect((await invited.call('GET', `/orgs/${desk.org.orgId}`)).status).toBe(200)
  })

  it('locks no person out of another one, and can be left', async () => {
    const trap = await desk.server.addOrg('Trap')
    const place = { orgId: trap.orgId, adminId: desk.org.adminId }
    await addPrivilege(desk.server, place, { scope: 'org', role: 'admin' })
    expect((await requireIn(trap)).status).toBe(200)
    const login = createBrowser(desk.server)
    expect(await login.login(desk.org.email, desk.org.password)).toSatisfy(isEmptyAnswer)
    for (const call of [
      (method: string, path: string) => login.call(method, path),
      (method: string, path: string) => desk.server.call(method, path, { as: desk.org }),
    ] as const) {
      expect((await call('GET', `/orgs/${desk.org.orgId}`)).status).toBe(200)
      expect(await call('GET', `/orgs/${trap.orgId}`)).toMatchObject(refusal)
    }
    expect((await login.call('DELETE', `/self/orgs/${trap.orgId}`)).status).toBe(200)
    expect((await login.call('GET', `/orgs/${trap.orgId}`)).status).toBe(404)
    expect((await login.call('DELETE', `/self/orgs/${trap.orgId}`)).status).toBe(404)
    expect(await login.call('DELETE', `/self/orgs/${desk.org.orgId}`)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('without an admin') },
    })
  })
})
