import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser } from '../oauth/browser.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { type IdentityProvider, encode, makeKeys, startIdentityProvider } from './identity-provider.ts'
import { type TestSso, addSso, beginLogin, failuresOf, post, present, selfOf, signIn } from './world.ts'
import { createOffsetClock } from '../support/test-clock.ts'

const clock = createOffsetClock()
const ssoDomains = new Map<string, string>()
let idp: IdentityProvider
let server: TestServer
let sso: TestSso
beforeAll(async () => {
  idp = await startIdentityProvider()
  server = await startTestServer(clock, {
    ssoDomains,
    trustedOrigins: ['https://portal.example.com'],
    trustLoopback: false,
  })
  sso = await addSso(server, idp, { fields: { custom_logout_url: 'https://idp.example.com/bye' } })
})
afterAll(async () => {
  await server.close()
  await idp.close()
})

const ada = {
  nameId: 'ada@corp.example',
  attributes: { Role: 'reader', FirstName: 'Ada', LastName: 'Lovelace' },
}

describe('signing in', () => {
  it('goes through the real identity provider and back', async () => {
    idp.people.set('ada', ada)
    const browser = openBrowser()
    const asked = await browser.follow(sso.loginUrl)
    expect(asked.url.href).toContain(idp.ssoUrl)
    const answer = await browser.submit(asked, { user: 'ada' })
    expect(answer.text).toContain(sso.acsUrl)
    const page = await browser.submit(answer, {})
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You are signed in') })
    expect(await selfOf(browser, server)).toMatchObject({
      email: 'ada@corp.example',
      first_name: 'Ada',
      last_name: 'Lovelace',
      via_sso: true,
      privileges: [{ scope: 'org', role: 'read', org_id: server.org.orgId }],
    })
  })

  it('finds the same account again and updates its names and privileges', async () => {
    const first = await selfOf(await signIn(idp, sso, ada), server)
    const attributes = { Role: ['admin', 'reader'], FirstName: 'Augusta', LastName: 'King' }
    const second = await selfOf(await signIn(idp, sso, { ...ada, attributes }), server)
    expect(second).toMatchObject({ admin_id: first.admin_id, first_name: 'Augusta' })
    expect(second.privileges.map(({ role }: { role: string }) => role)).toEqual(['admin', 'read'])
    const third = await selfOf(await signIn(idp, sso, ada), server)
    expect(third.privileges.map(({ role }: { role: string }) => role)).toEqual(['read'])
    await signIn(idp, sso, ada)
    const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs`)
    const messages = body.results.map(({ message }: { message: string }) => message)
    // Newest first; the last login changed nothing.
    expect(messages.slice(0, 3)).toEqual([
      'Login by single sign-on',
      'Login by single sign-on',
      'Privileges changed by single sign-on',
    ])
  })

  it('never signs in to an account with the same address', async () => {
    const person = { ...ada, nameId: server.org.email }
    const self = await selfOf(await signIn(idp, sso, person), server)
    expect(self.email).toBe(server.org.email)
    expect(self.admin_id).not.toBe(server.org.adminId)
    const body = { email: server.org.email, password: server.org.password }
    expect((await server.call('POST', '/login', { as: null, body })).status).toBe(200)
  })

  it('makes the browser post the answer again from our page, with its cookie', async () => {
    const { browser, request } = await beginLogin(idp, sso)
    const xml = await idp.respond(request, ada)
    const form = { SAMLResponse: encode(xml) }
    const bare = await fetch(sso.acsUrl, { method: 'POST', body: new URLSearchParams(form) })
    expect(bare.status).toBe(200)
    expect(bare.headers.getSetCookie()).toEqual([])
    const text = await bare.text()
    const page = await browser.submit({ url: new URL(sso.acsUrl), status: 200, location: null, text }, {})
    expect(page.text).toContain('You are signed in')
    expect(await selfOf(browser, server)).toBeDefined()
  })

  it('redirects to an allowed URL and to no other', async () => {
    const browser = openBrowser()
    const forward = 'https://portal.example.com/start?a=1'
    const { location } = await browser.open(`${sso.loginUrl}?forward=${encodeURIComponent(forward)}`)
    const request = await idp.readRequest(location ?? '')
    const xml = await idp.respond(request, ada)
    const page = await post(browser, sso.acsUrl, { SAMLResponse: encode(xml), RelayState: 'https://evil.example' })
    expect(page).toMatchObject({ status: 303, location: forward })
    const refused = await browser.open(`${sso.loginUrl}?forward=https://evil.example`)
    expect(refused).toMatchObject({ status: 400, location: null })
    const next = await beginLogin(idp, sso)
    const fields = { SAMLResponse: encode(await idp.respond(next.request, ada)), RelayState: 'https://evil.example' }
    expect(await post(next.browser, sso.acsUrl, fields)).toMatchObject({ status: 200, location: null })
  })

  it('accepts a response that is signed as a whole', async () => {
    const { browser, request } = await beginLogin(idp, sso)
    const xml = await idp.respond(request, ada, { signResponse: true, signAssertion: false })
    expect((await present(browser, sso.acsUrl, xml)).text).toContain('You are signed in')
  })

  it('refuses an unknown role, no role and a malformed address, and shows administrators the reason', async () => {
    const people = [
      [{ nameId: 'bob@corp.example', attributes: { Role: 'king' } }, 'There is no SSO role "king"'],
      [{ nameId: 'bob@corp.example' }, 'No role was named and there is no default_role'],
      [{ nameId: 'bob', attributes: { Role: 'reader' } }, 'The NameID is not an e-mail address'],
    ] as const
    for (const [person, why] of people) {
      const { browser, request } = await beginLogin(idp, sso)
      const page = await present(browser, sso.acsUrl, await idp.respond(request, person))
      expect(page).toMatchObject({ status: 400, text: expect.not.stringContaining(why) })
      expect(await selfOf(browser, server)).toBeUndefined()
      expect((await failuresOf(server, sso))[0]).toBe(why)
    }
  })
})

describe('single sign-on admins', () => {
  it("can't create tokens or other ways to sign in", async () => {
    const browser = await signIn(idp, sso, ada)
    const headers = {
      'content-type': 'application/json',
      'x-csrftoken': browser.cookie(server.url, 'csrftoken') ?? '',
    }
    const request = { method: 'POST', headers, body: '{"name":"mine"}' }
    expect((await browser.open(`${server.url}/api/v1/self/apitokens`, request)).status).toBe(403)
  })

  it('are sent to the custom logout URL once', async () => {
    const browser = await signIn(idp, sso, ada)
    const headers = { 'x-csrftoken': browser.cookie(server.url, 'csrftoken') ?? '' }
    const answer = await browser.open(`${server.url}/api/v1/logout`, { method: 'POST', headers })
    expect(answer).toMatchObject({ status: 200, text: '{"forward_url":"https://idp.example.com/bye"}' })
    expect(await selfOf(browser, server)).toBeUndefined()
  })

  it('get no forward_url if the SSO has none', async () => {
    const plain = await addSso(server, idp, { org: await server.addOrg() })
    const browser = await signIn(idp, plain, ada)
    const headers = { 'x-csrftoken': browser.cookie(server.url, 'csrftoken') ?? '' }
    const answer = await browser.open(`${server.url}/api/v1/logout`, { method: 'POST', headers })
    expect(answer).toMatchObject({ status: 200, text: '{}' })
  })

  it('are deleted by address, and no other accounts', async () => {
    const person = { ...ada, nameId: server.org.email }
    const browser = await signIn(idp, sso, person)
    const path = `/orgs/${server.org.orgId}/ssos/${sso.id}/delete_admins`
    const body = { emails: [server.org.email.toUpperCase(), 'nobody@corp.example'] }
    const answer = await server.call('POST', path, { body })
    expect(answer).toMatchObject({
      status: 200,
      body: { deleted: [server.org.email], errors: ['nobody@corp.example'] },
    })
    expect(await selfOf(browser, server)).toBeUndefined()
    expect((await server.call('GET', '/self')).body.email).toBe(server.org.email)
  })

  it("can't create an organization, which their identity provider would control too", async () => {
    const browser = await signIn(idp, sso, { ...ada, attributes: { Role: 'admin' } })
    const csrf = browser.cookie(server.url, 'csrftoken') ?? ''
    const headers = { 'content-type': 'application/json', 'x-csrftoken': csrf }
    const request = { method: 'POST', headers, body: '{"name":"Mine"}' }
    expect((await browser.open(`${server.url}/api/v1/orgs`, request)).status).toBe(403)
  })

  it('are signed out at the time that the identity provider set', async () => {
    const visit = await beginLogin(idp, sso)
    const until = new Date(clock.now().getTime() + 600_000)
    const xml = await idp.respond(visit.request, ada, { signAssertion: false })
    const limited = xml.replace('<saml:AuthnStatement ', `$&SessionNotOnOrAfter="${until.toISOString()}" `)
    const signed = idp.sign(limited, "//*[local-name(.)='Response']")
    expect((await present(visit.browser, sso.acsUrl, signed)).status).toBe(200)
    expect(await selfOf(visit.browser, server)).toBeDefined()
    clock.offsetMs += 600_000 + 121_000
    expect(await selfOf(visit.browser, server)).toBeUndefined()
  })

  it('can sign in while their identity provider changes its key', async () => {
    const next = await makeKeys()
    const org = await server.addOrg()
    const both = await addSso(server, idp, { org, fields: { idp_cert: `${idp.keys.cert}\n${next.cert}` } })
    for (const keys of [idp.keys, next]) {
      const { browser, request } = await beginLogin(idp, both)
      const page = await present(browser, both.acsUrl, await idp.respond(request, ada, { ...keys }))
      expect(page.status).toBe(200)
    }
  })

  it('are deleted with their SSO', async () => {
    const org = await server.addOrg()
    const short = await addSso(server, idp, { org })
    const browser = await signIn(idp, short, ada)
    expect((await server.call('DELETE', `/orgs/${org.orgId}/ssos/${short.id}`, { as: org })).status).toBe(200)
    expect(await selfOf(browser, server)).toBeUndefined()
    expect((await browser.open(short.loginUrl)).status).toBe(404)
  })
})

describe('a deleted SSO', () => {
  it('refuses logins that have begun before', async () => {
    const org = await server.addOrg()
    const short = await addSso(server, idp, { org })
    const { browser, request } = await beginLogin(idp, short)
    const xml = await idp.respond(request, { ...ada, nameId: 'late@corp.example' })
    const page = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('sso').select('id').where('id', '=', short.id).forUpdate().execute()
      const answer = present(browser, short.acsUrl, xml)
      await untilWaiting(server, 1)
      await tx.deleteFrom('sso').where('id', '=', short.id).execute()
      return { answer }
    })
    expect((await page.answer).status).toBe(400)
    expect(await selfOf(browser, server)).toBeUndefined()
    const left = server.ctx.db.selectFrom('admin').select('id').where('ssoId', '=', short.id)
    expect(await left.execute()).toEqual([])
  })

  it('begins no login that was requested during the deletion', async () => {
    const org = await server.addOrg()
    const { id, loginUrl } = await addSso(server, idp, { org })
    const begun = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('sso').select('id').where('id', '=', id).forUpdate().execute()
      const answer = openBrowser().open(loginUrl)
      await untilWaiting(server, 1)
      await tx.deleteFrom('sso').where('id', '=', id).execute()
      return { answer }
    })
    expect((await begun.answer).status).toBe(404)
    const left = server.ctx.db.selectFrom('samlRequest').select('id').where('ssoId', '=', id)
    expect(await left.execute()).toEqual([])
  })
})

describe('an SSO that is deleted during a login', () => {
  it('is deleted without a deadlock', async () => {
    const org = await server.addOrg()
    const short = await addSso(server, idp, { org })
    const { browser, request } = await beginLogin(idp, short)
    const xml = await idp.respond(request, ada)
    const path = `/orgs/${org.orgId}/ssos/${short.id}`
    const answers = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('org').select('id').where('id', '=', org.orgId).forUpdate().execute()
      const deleted = server.call('DELETE', path, { as: org })
      await untilWaiting(server, 1)
      const page = present(browser, short.acsUrl, xml)
      await untilWaiting(server, 2)
      return { deleted, page }
    })
    expect((await answers.deleted).status).toBe(200)
    expect((await answers.page).status).toBe(400)
  })
})

describe('lookup', () => {
  it('returns the URL of the SSO for domains that the operator has mapped', async () => {
    ssoDomains.set('corp.example', sso.id)
    const lookup = (email: string) => server.call('POST', '/login/lookup', { as: null, body: { email } })
    expect((await lookup('Anybody@Corp.example')).body).toEqual({ sso_url: sso.loginUrl })
    for (const email of ['a@other.example', server.org.email, 'corp.example@evil.example', ''])
      expect((await lookup(email)).body).toEqual({})
  })
})
