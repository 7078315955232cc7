import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, openBrowser } from '../oauth/browser.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { type IdentityProvider, encode, startIdentityProvider } from './identity-provider.ts'
import { type TestSso, addSso, beginLogin, failuresOf, post, present, selfOf } from './world.ts'
import { createOffsetClock } from '../support/test-clock.ts'

const clock = createOffsetClock()
let idp: IdentityProvider
let server: TestServer
let sso: TestSso
beforeAll(async () => {
  idp = await startIdentityProvider()
  server = await startTestServer(clock)
  sso = await addSso(server, idp)
})
afterAll(async () => {
  await server.close()
  await idp.close()
})

interface Wanted {
  readonly nameId: string
  readonly sessionIndexes?: readonly string[]
  readonly destination?: string | null
  readonly issuer?: string
  readonly issuedAt?: Date
}

/** The request before it is signed. */
function logoutRequest({
  nameId,
  sessionIndexes = [],
  destination = `${sso.entityId}/logout`,
  issuer = idp.issuer,
  issuedAt = clock.now(),
}: Wanted) {
  const indexes = sessionIndexes.map((index) => `<samlp:SessionIndex>${index}</samlp:SessionIndex>`).join('')
  const to = destination === null ? '' : ` Destination="${destination}"`
  return `<samlp:LogoutRequest xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_${randomBytes(16).toString('hex')}" Version="2.0" IssueInstant="${issuedAt.toISOString()}"${to}><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${issuer}</saml:Issuer><saml:NameID xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${nameId}</saml:NameID>${indexes}</samlp:LogoutRequest>`
}

const sign = (xml: string) => idp.sign(xml, "//*[local-name(.)='LogoutRequest']")

async function signInAs(nameId: string, sessionIndex: string, at = sso): Promise<Browser> {
  const { browser, request } = await beginLogin(idp, at)
  const person = { nameId, attributes: { Role: 'reader' } }
  expect((await present(browser, at.acsUrl, await idp.respond(request, person, { sessionIndex }))).status).toBe(200)
  return browser
}

/** Posts the request like a browser that the identity provider sends. */
const bring = (xml: string, at = sso) => post(openBrowser(), `${at.entityId}/logout`, { SAMLRequest: encode(xml) })

describe('a logout at the request of the identity provider', () => {
  it('ends the named session, or all of the person', async () => {
    const nameId = 'carla@corp.example'
    const [first, second] = [await signInAs(nameId, 'one'), await signInAs(nameId, 'two')]
    const other = await signInAs('dora@corp.example', 'one')
    expect(await bring(sign(logoutRequest({ nameId, sessionIndexes: ['one'] })))).toMatchObject({
      status: 200,
      text: expect.stringContaining('signed out'),
    })
    expect(await selfOf(first, server)).toBeUndefined()
    expect(await selfOf(second, server)).toBeDefined()
    expect((await bring(sign(logoutRequest({ nameId })))).status).toBe(200)
    expect(await selfOf(second, server)).toBeUndefined()
    expect(await selfOf(other, server)).toBeDefined()
    const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs`)
    expect(body.results[0].message).toBe('Logout by single sign-on')
  })

  it('ends all named sessions', async () => {
    const nameId = 'gerd@corp.example'
    const browsers = [await signInAs(nameId, 'a'), await signInAs(nameId, 'b'), await signInAs(nameId, 'c')]
    expect((await bring(sign(logoutRequest({ nameId, sessionIndexes: ['a', 'b'] })))).status).toBe(200)
    const left = await Promise.all(browsers.map((browser) => selfOf(browser, server)))
    expect(left.map((self) => self !== undefined)).toEqual([false, false, true])
  })

  it('waits for a deletion of the SSO, and then ends nothing', async () => {
    const org = await server.addOrg()
    const short = await addSso(server, idp, { org })
    const nameId = 'hana@corp.example'
    await signInAs(nameId, 'one', short)
    const request = sign(logoutRequest({ nameId, destination: `${short.entityId}/logout` }))
    const page = await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('sso').select('id').where('id', '=', short.id).forUpdate().execute()
      const answer = bring(request, short)
      await untilWaiting(server, 1)
      await tx.deleteFrom('admin').where('ssoId', '=', short.id).execute()
      await tx.deleteFrom('sso').where('id', '=', short.id).execute()
      return { answer }
    })
    expect((await page.answer).status).toBe(200)
  })

  it('ends no session that was opened by password, by another SSO, or by an unknown person', async () => {
    const nameId = server.org.email
    const elsewhere = await addSso(server, idp, { org: await server.addOrg() })
    const there = await signInAs(nameId, 'one', elsewhere)
    const { email, password } = server.org
    const login = await server.call('POST', '/login', { as: null, body: { email, password } })
    const cookie = login.headers.getSetCookie().map((line) => line.split(';')[0])
    expect((await bring(sign(logoutRequest({ nameId })))).status).toBe(200)
    expect(await selfOf(there, server)).toBeDefined()
    const self = await server.call('GET', '/self', { as: null, headers: { cookie: cookie.join('; ') } })
    expect(self.status).toBe(200)
  })

  it('is refused unless it is signed, meant for us, recent and new', async () => {
    const nameId = 'emil@corp.example'
    const browser = await signInAs(nameId, 'one')
    const signed = sign(logoutRequest({ nameId: 'nobody@corp.example' }))
    const unsigned = logoutRequest({ nameId })
    const refused: [string, RegExp][] = [
      [unsigned, /signature/],
      [signed.replace('nobody@corp.example', nameId), /signature/],
      [unsigned.replace('</samlp:LogoutRequest>', `${signed}</samlp:LogoutRequest>`), /signature/],
      [sign(logoutRequest({ nameId, destination: 'https://other.example/logout' })), /destination/],
      [sign(logoutRequest({ nameId, destination: null })), /destination/],
      [sign(logoutRequest({ nameId, issuer: 'https://other.example' })), /issuer/],
      [sign(logoutRequest({ nameId, issuedAt: new Date(clock.now().getTime() - 600_000) })), /five minutes/],
      [`<!DOCTYPE a>${unsigned}`, /document type/],
    ]
    for (const [xml, why] of refused) {
      expect((await bring(xml)).status).toBe(400)
      expect((await failuresOf(server, sso))[0]).toMatch(why)
    }
    expect(await selfOf(browser, server)).toBeDefined()
    expect((await bring(signed)).status).toBe(200)
    expect((await bring(signed)).status).toBe(400)
    expect((await failuresOf(server, sso))[0]).toMatch(/used before/)
  })

  it('changes nothing by a mere GET', async () => {
    const browser = await signInAs('frida@corp.example', 'one')
    const request = encodeURIComponent(encode(sign(logoutRequest({ nameId: 'frida@corp.example' }))))
    const page = await browser.open(`${sso.entityId}/logout?SAMLRequest=${request}`)
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('signed out') })
    expect(await selfOf(browser, server)).toBeDefined()
  })
})
