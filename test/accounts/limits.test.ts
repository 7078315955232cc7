import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createBrowser, codeAt } from '../support/peers/browser.ts'
import { addSite } from '../support/fleets/devices.ts'
import { addPerson, addPrivilege } from '../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

let clock: TestClock
let server: TestServer
let org: TestOrg
beforeAll(async () => {
  clock = createTestClock()
  const limits = { orgsPerAccount: 2, sitesPerOrg: 2, tokensPerAccount: 3, tokensPerOrg: 2, sessionsPerAccount: 2 }
  server = await startTestServer(clock, {}, null, { limits })
})
afterAll(() => server.close())
beforeEach(async () => {
  clock.advance(60_000)
  org = await server.addOrg()
})

/** Expects that `places` of the requests at the same time succeed, and that the others name the limit. */
async function expectRoom(places: number, requests: readonly Promise<Answer>[], detail: string): Promise<void> {
  const answers = await Promise.all(requests)
  const refused = answers.filter(({ status }) => status !== 200)
  expect(answers.length - refused.length).toBe(places)
  for (const answer of refused) expect(answer).toMatchObject({ status: 400, body: { detail } })
}

const post = (path: string, body: unknown) => server.call('POST', path, { as: org, body })
const place = { address: '1 High Street', country_code: 'GB', latlng: { lat: 51.5, lng: -0.1 } }
const four = [1, 2, 3, 4]

it('organizations that an account creates or clones are limited, also when they are created at the same time', async () => {
  const create = (n: number) => (n % 2 === 0 ? post('/orgs', { name: 'New' }) : post(`/orgs/${org.orgId}/clone`, {}))
  await expectRoom(2, four.map(create), 'An account may create at most 2 organizations')
  // Tokens of others don't count, leaving an organization makes no room, and deleting one does.
  const { body: self } = await server.call('GET', '/self', { as: org })
  expect(self.privileges).toHaveLength(3)
  const { orgId } = await server.addOrg()
  await addPrivilege(server, { orgId, adminId: org.adminId }, { scope: 'org', role: 'admin' })
  const made = self.privileges.find((held: { org_id: string }) => held.org_id !== org.orgId)
  expect((await server.call('DELETE', `/orgs/${made.org_id}`, { as: org })).status).toBe(200)
  await expectRoom(1, four.map(create), 'An account may create at most 2 organizations')
})

it('sites of an organization are limited in every operation that creates them', async () => {
  const create = (n: number) =>
    n % 2 === 0
      ? post(`/orgs/${org.orgId}/sites`, { name: `Site ${n}` })
      : server.call('PUT', `/installer/orgs/${org.orgId}/sites/Site%20${n}`, {
          as: org,
          body: { name: `Site ${n}`, ...place },
        })
  await expectRoom(2, four.map(create), 'An organization may have at most 2 sites')
  const { body: sites } = await server.call('GET', `/orgs/${org.orgId}/sites`, { as: org })
  expect(sites).toHaveLength(2)
  expect((await server.call('PUT', `/sites/${sites[0].id}`, { as: org, body: { notes: 'x' } })).status).toBe(200)
  await server.call('DELETE', `/sites/${sites[0].id}`, { as: org })
  await expectRoom(1, [5, 6].map(create), 'An organization may have at most 2 sites')
  await addSite(server, 'of another organization')
})

it('tokens of an account and of an organization are limited', async () => {
  const password = { name: 'Script', password: org.password }
  // The account has one from its start.
  const own = four.map(() => post('/self/apitokens', password))
  await expectRoom(2, own, 'An admin may have at most 3 API tokens')
  const another = await addPerson(server, [{ scope: 'org', role: 'admin' }])
  const body = { name: 'Robot', privileges: [{ scope: 'org', role: 'read' }] }
  const ofOrg = four.map((n) =>
    server.call('POST', `/orgs/${server.org.orgId}/apitokens`, { as: n % 2 === 0 ? another : server.org, body }),
  )
  await expectRoom(2, ofOrg, 'An organization may have at most 2 API tokens')
})

describe('sessions of an account', () => {
  const signIn = async () => {
    clock.advance(1000)
    const browser = createBrowser(server)
    expect((await browser.login(org.email, org.password)).status).toBe(200)
    return browser
  }
  const isOpen = async (browser: ReturnType<typeof createBrowser>) =>
    (await browser.call('GET', '/self')).status === 200

  it('end beyond their number, the one that was used longest ago first', async () => {
    const [first, second] = [await signIn(), await signIn()]
    clock.advance(61_000)
    expect(await isOpen(first)).toBe(true)
    const third = await signIn()
    expect([await isOpen(first), await isOpen(second), await isOpen(third)]).toEqual([true, false, true])
    const { body } = await server.call('GET', '/self/logs', { as: org })
    expect(body.results).toContainEqual(
      expect.objectContaining({ message: 'End sessions beyond 2, unused for longest', before: { sessions: 1 } }),
    )
    const stranger = createBrowser(server)
    await stranger.login(server.org.email, server.org.password)
    expect(await isOpen(first)).toBe(true)
  })

  it('never exceed it, also when people sign in at the same time', async () => {
    const browsers = four.map(() => createBrowser(server))
    await Promise.all(browsers.map((browser) => browser.login(org.email, org.password)))
    const open = await Promise.all(browsers.map(isOpen))
    expect(open.filter(Boolean)).toHaveLength(2)
  })

  it('do not end for those who know the password without the second factor', async () => {
    const owner = await signIn()
    const { body: offer } = await owner.call('GET', '/self/two_factor/token')
    const secret: string = offer.two_factor_secret
    const enable = { two_factor: codeAt(secret, clock.now()), password: org.password }
    expect((await owner.call('POST', '/self/two_factor/verify', enable)).status).toBe(200)
    const halves = [await signIn(), await signIn(), await signIn()]
    expect(await isOpen(owner)).toBe(true)
    clock.advance(30_000)
    const pass = async (index: number) =>
      (await halves[index]?.call('POST', '/login/two_factor', { two_factor: codeAt(secret, clock.now()) }))?.status
    expect(await pass(0)).toBe(401)
    expect(await pass(1)).toBe(200)
    clock.advance(30_000)
    expect(await pass(2)).toBe(200)
    const rows = server.ctx.db.selectFrom('session').select('idHash').where('adminId', '=', org.adminId)
    expect(await rows.execute()).toHaveLength(2)
  })
})
