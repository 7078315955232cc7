import { request } from 'undici'
import type { AnyJson } from '../support/contract/any-json.ts'
import type { TestOrg, TestServer } from '../support/servers/server.ts'
import { type Browser, openBrowser } from './browser.ts'

export interface PersonAnswer {
  readonly status: number
  readonly body: AnyJson
}

/** Calls an operation, such as `GET /self`, from a page of ours in the browser, with its cookies. */
export async function callAs(
  browser: Browser,
  server: TestServer,
  operation: string,
  body?: unknown,
): Promise<PersonAnswer> {
  const [method = '', path = ''] = operation.split(' ')
  const url = `${server.url}/api/v1${path}`
  const csrf = browser.cookie(url, 'csrftoken')
  const page = await browser.open(url, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(csrf !== undefined && { 'x-csrftoken': csrf }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: page.status, body: JSON.parse(page.text) }
}

/** A browser in which the administrator has signed in by password. */
export async function signedIn(server: TestServer, org: TestOrg = server.org): Promise<Browser> {
  const browser = openBrowser()
  const { status } = await callAs(browser, server, 'POST /login', { email: org.email, password: org.password })
  if (status !== 200) throw new Error(`login answered ${status}`)
  return browser
}

/** Calls as a script: without cookies and without the headers of browsers. */
export async function callByScript(
  server: TestServer,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  { body, headers = {} }: { readonly body?: unknown; readonly headers?: Record<string, string> } = {},
): Promise<PersonAnswer> {
  const answer = await request(`${server.url}/api/v1${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.statusCode, body: await answer.body.json() }
}
