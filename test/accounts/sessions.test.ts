import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Browser, createBrowser } from '../support/peers/browser.ts'
import { addPerson } from '../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

let clock: TestClock
let server: TestServer
let person: TestOrg
let desk: Browser
let phone: Browser
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
})
afterAll(() => server.close())
beforeEach(async () => {
  clock.advance(60_000)
  person = await addPerson(server, [{ scope: 'org', role: 'read' }])
  desk = createBrowser(server)
  phone = createBrowser(server)
  await desk.login(person.email, person.password)
  clock.advance(1000)
  await phone.login(person.email, person.password)
})

const list = async (browser: Browser) => (await browser.call('GET', '/self/sessions')).body
const whoAmI = async (browser: Browser) => (await browser.call('GET', '/self')).status

describe('the sessions of an account', () => {
  it('are listed with the present one, and without what would open one', async () => {
    const sessions = await list(desk)
    expect(sessions).toHaveLength(2)
    expect(sessions.map(({ current }: { current: boolean }) => current).toSorted()).toEqual([false, true])
    for (const session of sessions) {
      expect(session).toMatchObject({ via_sso: false, src_ip: '127.0.0.1' })
      expect(session.created_time).toBeLessThan(session.expires_time)
      for (const { cookies } of [desk, phone]) expect(JSON.stringify(session)).not.toContain(cookies.get('sessionid'))
    }
  })

  it('end one by one, with a record', async () => {
    const other = (await list(desk)).find(({ current }: { current: boolean }) => !current)
    expect(await desk.call('DELETE', `/self/sessions/${other.id}`)).toMatchObject({ status: 200, body: {} })
    expect([await whoAmI(desk), await whoAmI(phone)]).toEqual([200, 401])
    expect(await list(desk)).toHaveLength(1)
    const { body } = await desk.call('GET', '/self/logs')
    expect(body.results[0].message).toBe('End a session')
    expect((await desk.call('DELETE', `/self/sessions/${other.id}`)).status).toBe(404)
  })

  it('end all but the one that asks', async () => {
    expect((await phone.call('DELETE', '/self/sessions')).body).toEqual({ ended: 1 })
    expect([await whoAmI(desk), await whoAmI(phone)]).toEqual([401, 200])
    expect((await phone.call('DELETE', '/self/sessions')).body).toEqual({ ended: 0 })
  })

  it('are no business of anybody else', async () => {
    const stranger = createBrowser(server)
    const other = await addPerson(server, [{ scope: 'org', role: 'admin' }])
    await stranger.login(other.email, other.password)
    const [session] = await list(desk)
    expect((await stranger.call('DELETE', `/self/sessions/${session.id}`)).status).toBe(404)
    expect(await list(stranger)).toHaveLength(1)
    expect([await whoAmI(desk), await whoAmI(phone)]).toEqual([200, 200])
  })

  it('are not listed once they have expired', async () => {
    clock.advance(400 * 86_400_000)
    const late = createBrowser(server)
    await late.login(person.email, person.password)
    expect(await list(late)).toHaveLength(1)
  })
})
