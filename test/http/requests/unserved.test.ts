import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const SOME_ID = '00000000-0000-4000-8000-000000000000'

describe('a path that is served with other methods', () => {
  it.each([
    ['PATCH', '/orgs', 'POST'],
    ['PUT', `/orgs/${SOME_ID}/sites`, 'GET, HEAD, POST'],
    ['POST', `/sites/${SOME_ID}`, 'DELETE, GET, HEAD, PUT'],
    ['OPTIONS', `/sites/${SOME_ID}`, 'DELETE, GET, HEAD, PUT'],
    ['PROPFIND', `/sites/${SOME_ID}`, 'DELETE, GET, HEAD, PUT'],
    ['GET', `/orgs/${SOME_ID}/mxedges/assign`, 'POST'],
    ['GET', '/login?x=1', 'POST'],
  ])('answers 405 and names them: %s %s', async (method, path, allow) => {
    const answer = await server.call(method, path)
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe(allow)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.body).toEqual({
      detail: `Method ${method} is not allowed here, only ${allow}`,
      path: `/api/v1${path.split('?', 1)[0]}`,
    })
  })

  it('answers 405 with exactly the methods of the declared operations', async () => {
    const methodsOf = Map.groupBy(server.operations, ({ at }) =>
      at.path.replaceAll(/:\w+\(.*?\)/g, 'image1').replaceAll(/:\w+/g, ':'),
    )
    for (const [path, operations] of methodsOf) {
      const declared = new Set(operations.map(({ method }) => String(method)))
      if (declared.has('GET')) declared.add('HEAD')
      const { status, headers } = await server.call('PROPFIND', path.replaceAll(':', SOME_ID))
      expect({ path, status, allow: new Set(headers.get('allow')?.split(', ')) }).toEqual({
        path,
        status: 405,
        allow: expect.toSatisfy((allow: Set<string>) => declared.isSubsetOf(allow)),
      })
    }
  })
})

describe('a path that no operation has', () => {
  it.each([
    ['GET', 'mxedges/upgrade-all'],
    ['GET', 'sites/no-uuid-and-no-path/of/ours'],
    ['GET', 'webhooks/no-uuid'],
    ['DELETE', 'webhooks/no-uuid'],
  ])('answers 404, although a parameter would match its segment: %s %s', async (method, path) => {
    const at = `/orgs/${server.org.orgId}/${path}`
    expect(await server.call(method, at)).toMatchObject({
      status: 404,
      body: { detail: 'Not found.', path: `/api/v1${at}` },
    })
  })

  it('answers 404 to each operation with a UUID in its path if that is none', async () => {
    const withIds = server.operations.filter(({ schema }) => JSON.stringify(schema.params ?? {}).includes('"uuid"'))
    expect(withIds.length).toBeGreaterThan(150)
    for (const { id, method, at } of withIds) {
      const { status, body } = await server.call(method, at.path.replaceAll(/:\w+/g, 'nothing'))
      expect({ id, status, body }).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
    }
  })

  it('still refuses a filter that is not a UUID', async () => {
    const answer = await server.call('GET', `/orgs/${server.org.orgId}/inventory?site_id=nothing`)
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('site_id') } })
  })
})
