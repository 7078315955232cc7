import { expect } from 'vitest'
import type { AnyJson } from '../support/contract/any-json.ts'
import type { TestOrg, TestServer } from '../support/servers/server.ts'
import { type Browser, type BrowserPage, openBrowser } from '../oauth/browser.ts'
import { type IdentityProvider, type Person, encode } from './identity-provider.ts'

export interface TestSso {
  readonly org: TestOrg
  readonly id: string
  readonly domain: string
  readonly loginUrl: string
  readonly acsUrl: string
  readonly entityId: string
}

/** Creates an SSO of the organization with the identity provider, and the roles `admin` and `reader`. */
export async function addSso(
  server: TestServer,
  idp: IdentityProvider,
  { org = server.org, fields = {} }: { org?: TestOrg; fields?: Record<string, unknown> } = {},
): Promise<TestSso> {
  const body = {
    name: 'Company',
    issuer: idp.issuer,
    idp_cert: idp.keys.cert,
    idp_sso_url: idp.ssoUrl,
    ...fields,
  }
  const made = await server.call('POST', `/orgs/${org.orgId}/ssos`, { as: org, body })
  expect(made).toMatchObject({ status: 200 })
  for (const [name, role] of [
    ['admin', 'admin'],
    ['reader', 'read'],
  ])
    await server.call('POST', `/orgs/${org.orgId}/ssoroles`, {
      as: org,
      body: { name, privileges: [{ scope: 'org', role }] },
    })
  const { id, domain } = made.body
  const entityId = `${server.url}/saml/${domain}`
  return { org, id, domain, entityId, loginUrl: `${entityId}/login`, acsUrl: `${entityId}/acs` }
}

/** A login that has reached the identity provider. */
export interface Visit {
  readonly browser: Browser
  readonly request: Awaited<ReturnType<IdentityProvider['readRequest']>>
}

export async function beginLogin(idp: IdentityProvider, { loginUrl }: TestSso): Promise<Visit> {
  const browser = openBrowser()
  const { status, location } = await browser.open(loginUrl)
  expect(status).toBe(302)
  return { browser, request: await idp.readRequest(location ?? '') }
}

/** Posts the XML of a response to the service. */
export function present(browser: Browser, url: string, xml: string): Promise<BrowserPage> {
  return post(browser, url, { SAMLResponse: encode(xml) })
}

export function post(browser: Browser, url: string, fields: Record<string, string>): Promise<BrowserPage> {
  return browser.open(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ again: '1', ...fields }).toString(),
  })
}

export async function signIn(idp: IdentityProvider, sso: TestSso, person: Person): Promise<Browser> {
  const { browser, request } = await beginLogin(idp, sso)
  const page = await present(browser, sso.acsUrl, await idp.respond(request, person))
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You are signed in') })
  return browser
}

/** Reads the account record of the person who is signed in; undefined if nobody is. */
export async function selfOf(browser: Browser, server: TestServer): Promise<AnyJson> {
  const { status, text } = await browser.open(`${server.url}/api/v1/self`)
  return status === 200 ? JSON.parse(text) : undefined
}

/** Lists why logins were refused, newest first. */
export async function failuresOf(server: TestServer, { org, id }: TestSso): Promise<string[]> {
  const { body } = await server.call('GET', `/orgs/${org.orgId}/ssos/${id}/failures`, { as: org })
  return body.results.map(({ detail }: { detail: string }) => detail)
}
