import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeEventTypes } from '../../scripts/reference/event-types.ts'
import { makeReference } from '../../scripts/reference/reference.ts'
import {
  type OpenApi,
  type Operation,
  fetchOpenApi,
  fetchPublished,
  operationsOf,
} from '../support/contract/openapi.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'

/** Operations that clients call before they have credentials. */
const PUBLIC = [
  'login',
  'lookup',
  'recoverPassword',
  'verifyRecoverPassword',
  'confirmSelfEmail',
  'getAdminRegistrationInfo',
  'registerMxEdgeAgent',
  'registerNewAdmin',
  'verifyRegistration',
  'listLoginOauthProviders',
  'getOauth2AuthorizationUrlForLogin',
  'loginOauth2',
  // Agents have nothing but a code of their appliance or their organization.
  'registerMxEdgeAgent',
  'registerSsrAgent',
  // Receivers who verify messages have no account.
  'listWebhookKeys',
]

let server: TestServer
let document: OpenApi
let published: OpenApi
let operations: Operation[]
beforeAll(async () => {
  server = await startTestServer()
  document = await fetchOpenApi(server)
  published = await fetchPublished(server)
  operations = operationsOf(document)
})
afterAll(() => server.close())

/** Returns the path with values that name nothing, but are not refused. */
function pathOf(path: string): string {
  return path
    .replace('/api/v1', '')
    .replace('{image_name}', 'image1')
    .replace('{device_mac}', '00005e005301')
    .replaceAll(/\{\w+\}/g, server.org.orgId)
}

it('is OpenAPI 3.1 with every operation under /api/v1', () => {
  expect(document.openapi).toMatch(/^3\.1\./)
  expect(operations.length).toBeGreaterThan(40)
  expect(operations.filter(({ path }) => !path.startsWith('/api/v1/'))).toEqual([])
})

it('names every operation, each differently', () => {
  const ids = operations.map(({ spec }) => spec.operationId)
  expect(ids).not.toContain(undefined)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

it('says in one line what each operation does, each differently', () => {
  const summaries = operations.map(({ spec }) => spec.summary ?? '')
  expect(summaries.filter((summary) => !/^[A-Z][a-z]+,? .{2,80}[^.]$/.test(summary))).toEqual([])
  expect(summaries.filter((summary, index) => summaries.indexOf(summary) !== index)).toEqual([])
})

it('declares every parameter of a path', () => {
  for (const { id, path, spec } of operations) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const declared = spec.parameters?.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
    expect(new Set(declared), id).toEqual(new Set(inPath))
  }
})

it('says what success looks like', () => {
  const silent = operations.filter(({ spec }) => {
    const [content] = Object.values(spec.responses['200']?.content ?? {})
    return content?.schema === undefined
  })
  expect(silent.map(({ id }) => id)).toEqual([])
})

it('names what operations take and answer, by nouns', () => {
  const nameless = operationsOf(published).flatMap(({ id, spec: { requestBody, responses } }) => {
    const schemas = [requestBody, responses['200']].map((part) => part?.content?.['application/json']?.schema)
    return schemas.some((schema) => Object.hasOwn(schema ?? {}, 'properties')) ? [id] : []
  })
  expect(nameless).toEqual([])
  expect(
    Object.keys(published.components['schemas'] ?? {}).filter((name) => !/^([A-Z][A-Za-z0-9]+)$/.test(name)),
  ).toEqual([])
})

it('asks for credentials, except where there can be none', async () => {
  const schemes = Object.keys(document.components['securitySchemes'] ?? {})
  expect(document.security.flatMap((way) => Object.keys(way)).filter((name) => !schemes.includes(name))).toEqual([])
  const open = operations.filter(({ spec }) => (spec.security ?? document.security).length === 0)
  expect(new Set(open.map(({ id }) => id))).toEqual(new Set(PUBLIC))
  for (const { id, method, path } of operations.filter((operation) => !PUBLIC.includes(operation.id))) {
    const answer = await server.call(method, pathOf(path), { as: null })
    expect(answer, id).toMatchObject({ status: 401, body: { detail: 'Authentication credentials were not provided.' } })
  }
})

it('is served compressed, and not again to clients that have it', async () => {
  const get = (headers: Record<string, string>) => fetch(`${server.url}/api/v1/openapi.json`, { headers })
  const packed = await get({ 'accept-encoding': 'br, gzip' })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  expect(packed.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(packed.headers.get('vary')).toBe('accept-encoding')
  const length = Number(packed.headers.get('content-length'))
  const text = await packed.text()
  expect(length).toBeGreaterThan(0)
  expect(length).toBeLessThan(text.length / 8)

  const plain = await get({ 'accept-encoding': 'gzip;q=0, identity' })
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(await plain.text()).toBe(text)

  const etag = plain.headers.get('etag') ?? ''
  expect(etag).toMatch(/^W\/"[\w-]{43}"$/)
  expect(packed.headers.get('etag')).toBe(etag)
  for (const known of [etag, `"other", ${etag}`, etag.slice(2), '*']) {
    const answer = await get({ 'if-none-match': known })
    expect([answer.status, answer.headers.get('etag'), await answer.text()], known).toEqual([304, etag, ''])
  }
  expect((await get({ 'if-none-match': '"other"' })).status).toBe(200)
})

it('is what the page to browse it reads', async () => {
  expect(await (await fetch(`${server.url}/docs/json`)).json()).toEqual(published)
  expect(await (await fetch(`${server.url}/docs/yaml`)).text()).toMatch(/^openapi: 3\.1\.0$/m)
})

it('can be browsed, with everything from the server itself', async () => {
  const page = await fetch(`${server.url}/docs`)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toContain('text/html')
  const policy = page.headers.get('content-security-policy')
  expect(policy).toContain("default-src 'self'")
  // Plain HTTP stays plain HTTP.
  expect(policy).not.toContain('upgrade-insecure-requests')
  const html = await page.text()
  const sources = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source ?? '')
  expect(sources.length).toBeGreaterThan(2)
  for (const source of sources) {
    expect(source).toMatch(/^\/docs\//)
    const asset = await fetch(server.url + source)
    expect(asset.status, source).toBe(200)
    await asset.bytes()
  }
})

/** To refresh the snapshot after a change of the interface: npm test -- test/http/openapi.test.ts --update */
it('is the committed document', async () => {
  const committed = fileURLToPath(new URL('../../docs/openapi.json', import.meta.url))
  await expect(`${JSON.stringify(published, null, 2)}\n`).toMatchFileSnapshot(committed)
})

it('has the committed pages of the reference', async () => {
  const folder = fileURLToPath(new URL('../../docs/reference', import.meta.url))
  const pages = makeReference(published)
  for (const [file, text] of pages) await expect(text).toMatchFileSnapshot(`${folder}/${file}`)
  await expect(makeEventTypes()).toMatchFileSnapshot(`${folder}/event-types.md`)
  expect(readdirSync(folder).toSorted()).toEqual([...pages.keys(), 'event-types.md'].toSorted())
  const headings = [...pages.values()].join('\n').match(/^## /gm)
  expect(headings).toHaveLength(operations.length)
})
