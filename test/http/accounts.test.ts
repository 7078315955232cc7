import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const anonymous = { as: null }

describe('authentication', () => {
  it('answers the account record of a token', async () => {
    const { status, body } = await server.call('GET', '/self')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      admin_id: server.org.adminId,
      email: server.org.email,
      privileges: [{ scope: 'org', role: 'admin', org_id: server.org.orgId, org_name: 'Test' }],
    })
  })

  it('accepts Basic and refuses a wrong password without a browser prompt', async () => {
    const basic = (password: string) =>
      server.call('GET', '/self', {
        ...anonymous,
        headers: { authorization: `Basic ${Buffer.from(`${server.org.email}:${password}`).toString('base64')}` },
      })
    expect((await basic(server.org.password)).status).toBe(200)
    const refused = await basic('wrong')
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toBe('Token')
  })

  it.each([
    ['nothing', {}],
    ['an unknown token', { authorization: 'Token nope' }],
    ['an unknown scheme', { authorization: 'Bearer nope' }],
    ['malformed Basic credentials', { authorization: 'Basic %%%' }],
    ['a NUL in Basic', { authorization: `Basic ${Buffer.from('a\0b:c').toString('base64')}` }],
    ['an unknown session', { cookie: 'sessionid=nope' }],
  ])('answers 401 with a detail to %s', async (_what, headers: Record<string, string>) => {
    const { status, body } = await server.call('GET', '/self', { ...anonymous, headers })
    expect(status).toBe(401)
    expect(body.detail).toEqual(expect.any(String))
  })

  it('refuses a revoked token immediately', async () => {
    const other = await server.addOrg('Revoked')
    expect((await server.call('GET', '/self', { as: other })).status).toBe(200)
    await server.ctx.db.deleteFrom('apiToken').where('adminId', '=', other.adminId).execute()
    expect((await server.call('GET', '/self', { as: other })).status).toBe(401)
  })
})

describe('a login session', () => {
  async function login(password: string) {
    return server.call('POST', '/login', { ...anonymous, body: { email: server.org.email.toUpperCase(), password } })
  }

  function cookiesOf(headers: Headers): Record<string, string> {
    return Object.fromEntries(headers.getSetCookie().map((line) => (line.split(';', 1)[0] ?? '').split('=', 2)))
  }

  it('starts with a login, requires the CSRF header for changes, and ends with a logout', async () => {
    const answer = await login(server.org.password)
    expect(answer).toMatchObject({ status: 200, body: {} })
    const sessionCookie = answer.headers.getSetCookie().find((line) => line.startsWith('sessionid='))
    expect(sessionCookie?.split('; ')).toEqual(expect.arrayContaining(['HttpOnly', 'SameSite=Lax', 'Path=/']))
    const { sessionid, csrftoken } = cookiesOf(answer.headers)
    const cookie = `sessionid=${sessionid}; csrftoken=${csrftoken}`
    expect((await server.call('GET', '/self', { ...anonymous, headers: { cookie } })).status).toBe(200)

    const logout = (headers: Record<string, string>) =>
      server.call('POST', '/logout', { ...anonymous, headers, body: '' })
    expect((await logout({ cookie })).status).toBe(403)
    expect((await logout({ cookie, 'x-csrftoken': 'wrong' })).status).toBe(403)
    expect(await logout({ cookie, 'x-csrftoken': csrftoken ?? '' })).toMatchObject({ status: 200, body: {} })
    expect((await server.call('GET', '/self', { ...anonymous, headers: { cookie } })).status).toBe(401)
  })

  it('is refused alike for a wrong password and an unknown address', async () => {
    const wrong = await login('not the password')
    const unknown = await server.call('POST', '/login', { ...anonymous, body: { email: 'a@b.test', password: 'x' } })
    expect(wrong.status).toBe(400)
    expect(unknown.status).toBe(400)
    expect(unknown.body).toEqual(wrong.body)
  })
})
