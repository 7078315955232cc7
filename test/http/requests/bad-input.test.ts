import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let siteId: string
beforeAll(async () => {
  server = await startTestServer()
  siteId = (await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body: { name: 'Site' } })).body.id
})
afterAll(() => server.close())

const json = { 'content-type': 'application/json' }

/** Reads everything that a bad body could have changed. */
async function snapshot(): Promise<unknown> {
  const { db } = server.ctx
  return Promise.all([
    db.selectFrom('org').selectAll().orderBy('id').execute(),
    db.selectFrom('site').selectAll().orderBy('id').execute(),
    db.selectFrom('auditLog').select('id').orderBy('id').execute(),
    db.selectFrom('webhookOutbox').select('id').orderBy('id').execute(),
  ])
}

describe('an invalid body', () => {
  it.each([
    ['malformed JSON', '{"name": ', 400, /JSON parse error/],
    ['an array', '[]', 400, /body/],
    ['a text', '"x"', 400, /body/],
    ['null', 'null', 400, /body/],
    ['a wrong type', '{"name": 5}', 400, /name/],
    ['a missing name', '{"timezone": "UTC"}', 400, /name/],
    ['an empty name', '{"name": ""}', 400, /name/],
    ['an unknown zone', '{"name": "x", "timezone": "Mars/Olympus"}', 400, /timezone/],
    ['a NUL character', '{"name": "a\\u0000b"}', 400, /Invalid field name: may not contain the character U\+0000/],
    ['a NUL in an unknown key', '{"name": "x", "k\\u0000": 1}', 400, /Invalid field body: .*U\+0000/],
    ['half a surrogate pair', '{"name": "x", "notes": "\\ud800"}', 400, /Invalid field notes: .*surrogate/],
    ['half a pair deep in a field', '{"name": "x", "deep": {"a": [{"b": "\\ud800"}]}}', 400, /Invalid field deep: /],
    ['a key into the prototype', '{"name": "x", "__proto__": {"a": 1}}', 400, /__proto__/],
    ['endless nesting', `{"name": "x", "deep": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400, /nested/],
    ['an endless number', '{"name": "x", "deep": {"a": [1e400]}}', 400, /range of a double/],
    ['a negative endless number', '{"name": "x", "deep": -1e400}', 400, /range of a double/],
    ['400 digits', `{"name": "x", "deep": ${'9'.repeat(400)}}`, 400, /range of a double/],
    ['a byte that is not UTF-8', Buffer.from('7b226e616d65223a22ff227d', 'hex'), 400, /UTF-8/],
    ['Latin-1', Buffer.from('{"name": "Zürich"}', 'latin1'), 400, /UTF-8/],
    ['an overlong encoding', Buffer.from('7b226e616d65223a22c0af227d', 'hex'), 400, /UTF-8/],
    ['a text cut in a character', Buffer.from('{"name": "x", "notes": "東').subarray(0, -1), 400, /UTF-8/],
    ['10 MB', `{"name": "x", "notes": "${'x'.repeat(10_000_000)}"}`, 413, /./],
  ])('%s: %s is refused and changes nothing', async (_what, body, status, detail) => {
    const before = await snapshot()
    const answer = await server.call('POST', `/orgs/${server.org.orgId}/sites`, { body, headers: json })
    expect(answer.status).toBe(status)
    expect(JSON.stringify(answer.body)).toMatch(detail)
    expect(answer.body.detail).toEqual(expect.any(String))
    expect(await snapshot()).toEqual(before)
  })

  it.each([
    ['model', { models: ['x'.repeat(5000)] }, /^Invalid field models.0: .* of the model x{50}/, /x{200}$/],
    [
      'model of words',
      { models: ['x y '.repeat(1250)] },
      /^Invalid field models.0: .* of the model (x y ){20}/,
      /x y $/,
    ],
    [
      'key',
      { versions: [{ model_version: { ['x'.repeat(5000)]: '1' } }] },
      /^Invalid field versions.0.*x{50}/,
      /x{100}$/,
    ],
    ['path', undefined, /^'.api.v1.orgs.x{100}/, /max param length$/],
  ])('is refused with the start and the end of a long %s', async (_what, fields, start, end) => {
    const path = `/orgs/${fields === undefined ? 'x'.repeat(5000) : server.org.orgId}/devices/upgrade`
    const { status, body } = await server.call('POST', path, { body: { all_sites: true, version: '1', ...fields } })
    expect(Math.floor(status / 100)).toBe(4)
    expect(body.detail).toMatch(start)
    expect(body.detail).toMatch(/.{200}….{200}/)
    expect(body.detail).toMatch(end)
    expect(JSON.stringify(body).length).toBeLessThan(1000)
  })

  it('refuses an unsupported content type', async () => {
    const answer = await server.call('POST', `/orgs/${server.org.orgId}/sites`, {
      body: 'name=x',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(answer.status).toBe(415)
    expect(answer.body.detail).toEqual(expect.any(String))
  })

  it.each(['gzip', 'br', 'deflate, gzip', 'GZIP'])(
    'refuses a body compressed with %s, and says why',
    async (coding) => {
      const before = await snapshot()
      const answer = await server.call('POST', `/orgs/${server.org.orgId}/sites`, {
        body: gzipSync('{"name": "x"}'),
        headers: { ...json, 'content-encoding': coding },
      })
      expect(answer).toMatchObject({
        status: 415,
        body: { detail: `Content-Encoding ${coding} is not supported: send the body uncompressed` },
      })
      expect(await snapshot()).toEqual(before)
    },
  )

  it('accepts the encoding that changes nothing, and one of a body of zero bytes', async () => {
    const path = `/sites/${siteId}`
    const plain = { ...json, 'content-encoding': 'identity' }
    expect((await server.call('PUT', path, { body: '{"notes": "y"}', headers: plain })).status).toBe(200)
    expect((await server.call('GET', path, { headers: { 'content-encoding': 'gzip' } })).status).toBe(200)
  })

  it('accepts zero bytes with a JSON content type as an empty object', async () => {
    expect((await server.call('PUT', `/sites/${siteId}`, { body: '', headers: json })).status).toBe(200)
  })
})

describe('an invalid id', () => {
  it.each([
    ['a text that is not a UUID', 'no-uuid'],
    ['a NUL', '%00'],
    ['a path', '..%2f..'],
    ['broken percent encoding', '%zz'],
    ['600 characters', 'x'.repeat(600)],
  ])('answers 4xx to %s', async (_what, id) => {
    for (const path of [`/orgs/${id}`, `/sites/${id}`]) {
      const { status, body } = await server.call('GET', path)
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
      expect(body.detail).toEqual(expect.any(String))
    }
  })

  it('answers an unknown id and one of another organization alike', async () => {
    const other = await server.addOrg('Other')
    const unknown = await server.call('GET', '/orgs/00000000-0000-4000-8000-000000000000')
    const foreign = await server.call('GET', `/orgs/${other.orgId}`)
    expect(unknown).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
    expect(foreign).toMatchObject({ status: 404, body: { detail: 'Not found.', id: other.orgId } })
    expect((await server.call('GET', `/sites/${siteId}`, { as: other })).status).toBe(404)
  })

  it('answers an unknown path in the same form', async () => {
    expect(await server.call('GET', '/nothing/here')).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
  })
})
