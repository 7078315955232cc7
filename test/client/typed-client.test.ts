import type { components, paths } from '#openapi'
import createClient from 'openapi-fetch'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestServer, startTestServer } from '../support/servers/server.ts'

/**
 * A client of the types that scripts/generate-client-types.mjs generates from the published document. `npm run check`
 * compiles this file and thereby checks what the client may not do: an expected error that does not occur is an error.
 */
type Site = components['schemas']['Site']

let server: TestServer
let client: ReturnType<typeof createClient<paths>>
beforeAll(async () => {
  server = await startTestServer()
  client = createClient<paths>({
    baseUrl: server.url,
    headers: { authorization: `Token ${server.org.token}` },
  })
})
afterAll(() => server.close())

it('creates, lists and reads what has a name in the document', async () => {
  const params = { path: { org_id: server.org.orgId } }
  const created = await client.POST('/api/v1/orgs/{org_id}/sites', {
    params,
    body: { name: 'Harbour', timezone: 'Europe/Oslo', latlng: { lat: 59.9, lng: 10.7 } },
  })
  const site: Site | undefined = created.data
  expect(site).toMatchObject({ name: 'Harbour', timezone: 'Europe/Oslo', org_id: server.org.orgId })

  const listed = await client.GET('/api/v1/orgs/{org_id}/sites', { params: { ...params, query: { limit: 10 } } })
  const names: readonly string[] | undefined = listed.data?.map(({ name }) => name)
  expect(names).toContain('Harbour')
  expect(listed.response.headers.get('x-page-limit')).toBe('10')

  const found = await client.GET('/api/v1/orgs/{org_id}/sites/search', {
    params: { ...params, query: { name: 'Harb' } },
  })
  const total: number | undefined = found.data?.total
  expect(total).toBe(1)
})

it('has the errors of an operation as their own type', async () => {
  const { data, error, response } = await client.GET('/api/v1/sites/{site_id}', {
    params: { path: { site_id: server.org.orgId } },
  })
  expect(response.status).toBe(404)
  expect(data).toBeUndefined()
  const detail: string | undefined = error?.detail
  expect(detail).toBe('Not found.')
})

it('does not compile with what the document does not have', async () => {
  const params = { path: { org_id: server.org.orgId } }
  // @ts-expect-error The name is required.
  const nameless = await client.POST('/api/v1/orgs/{org_id}/sites', { params, body: { timezone: 'UTC' } })
  expect(nameless.error?.reason).toBe('is required')
  const upgrade = await client.POST('/api/v1/orgs/{org_id}/devices/upgrade', {
    params,
    // @ts-expect-error There is no such strategy.
    body: { all_sites: true, reboot_strategy: 'fastest' },
  })
  expect(upgrade.response.status).toBe(400)
  // @ts-expect-error There is no such path.
  expect((await client.GET('/api/v1/nothing')).response.status).toBe(404)
})
