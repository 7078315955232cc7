import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'

let server: TestServer
let siteId: string
beforeAll(async () => {
  server = await startTestServer()
  siteId = (await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body: { name: 'Site' } })).body.id
})
afterAll(() => server.close())

/** Reads an answer as text, because JSON.parse rounds. */
async function textOf(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Token ${server.org.token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body }),
  })
  return { status: answer.status, text: await answer.text() }
}

const exact = '{"big":12345678901234567891,"list":[-9007199254740993,1],"deep":{"longest":' + '7'.repeat(300) + '}}'

describe('integers beyond 2^53', () => {
  it.each([
    ['a site setting', () => `/sites/${siteId}/setting`],
    ['an organization setting', () => `/orgs/${server.org.orgId}/setting`],
    ['a site', () => `/sites/${siteId}`],
  ])('in %s are answered digit by digit, and survive another change', async (_what, pathOf) => {
    const path = pathOf()
    const written = await textOf('PUT', path, `{"vars_of_ours": ${exact}, "one_of_ours": 9007199254740993}`)
    expect(written.status).toBe(200)
    await textOf('PUT', path, '{"another": 1}')
    for (const { text } of [written, await textOf('GET', path)]) {
      expect(text).toContain(`"one_of_ours":9007199254740993`)
      for (const part of ['"big":12345678901234567891', '[-9007199254740993,1]', `"longest":${'7'.repeat(300)}`])
        expect(text.replaceAll(' ', '')).toContain(part)
    }
  })

  it('are in the audit record of their change', async () => {
    await textOf('PUT', `/sites/${siteId}`, '{"audited": 9007199254740995}')
    const { text } = await textOf('GET', `/orgs/${server.org.orgId}/logs?limit=1`)
    expect(text).toContain('9007199254740995')
  })

  it.each([
    ['a number', '{"latlng": {"lat": 12345678901234567891, "lng": 1}}', /latlng/],
    ['a text', '{"name": 12345678901234567891}', /name/],
    ['an object', '{"latlng": 12345678901234567891}', /latlng/],
  ])('are refused where %s is declared', async (_what, body, detail) => {
    const answer = await server.call('PUT', `/sites/${siteId}`, { body })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringMatching(detail) } })
  })

  it('do not let endless nesting through', async () => {
    const body = `{"a": 12345678901234567891, "b": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`
    expect((await server.call('PUT', `/sites/${siteId}`, { body })).status).toBe(400)
  })

  it('are refused with the bounds where a field or a parameter needs a number', async () => {
    const detailOf = async (method: string, path: string, body?: string) =>
      JSON.parse((await textOf(method, path, body)).text).detail
    const org = `/orgs/${server.org.orgId}`
    expect(await detailOf('PUT', org, '{"session_expiry": 12345678901234567890}')).toBe(
      'Invalid field session_expiry: must be at most 20160',
    )
    expect(await detailOf('PUT', org, '{"session_expiry": 9}')).toBe(
      'Invalid field session_expiry: must be at least 10',
    )
    const site = `/sites/${siteId}`
    expect(await detailOf('POST', `${site}/maps`, '{"orientation": 12345678901234567890}')).toBe(
      'Invalid field orientation: must be at most 359',
    )
    expect(await detailOf('POST', `${site}/maps`, '{"ppm": 12345678901234567890}')).toMatch(
      /^Invalid field ppm: must be a number from -9007199254740991 to 9007199254740991$/,
    )
    expect(await detailOf('GET', `${org}/sites?limit=${'9'.repeat(20)}`)).toBe(
      'Invalid field limit: must be a number of at most 15 digits',
    )
  })
})
