import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { addSite } from '../../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'

vi.setConfig({ testTimeout: 120_000 })

const KIB = 1024
const MIB = 1024 * KIB

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const change = (path: string, body: unknown) => server.call('PUT', path, { body })

describe('documents', () => {
  it('may have at most 128 KiB', async () => {
    const site = `/sites/${await addSite(server, 'Notes')}`
    expect((await change(site, { notes: 'x'.repeat(127 * KIB) })).status).toBe(200)
    expect(await change(site, { more: 'x'.repeat(2 * KIB) })).toMatchObject({
      status: 413,
      body: { detail: expect.stringMatching(/at most 131072 bytes of JSON; these have 13\d{4}$/) },
    })
    // A character of three bytes counts as three.
    expect((await change(site, { notes: '\u20ac'.repeat(50 * KIB) })).status).toBe(413)
  })

  it('of settings and maps may be larger', async () => {
    const siteId = await addSite(server, 'Wide')
    const orgSetting = `/orgs/${server.org.orgId}/setting`
    const map = await server.call('POST', `/sites/${siteId}/maps`, { body: { name: 'Floor' } })
    const limits = [
      { path: `/sites/${siteId}/setting`, bytes: MIB },
      { path: orgSetting, bytes: MIB },
      { path: `/sites/${siteId}/maps/${map.body.id}`, bytes: MIB / 2 },
    ]
    for (const { path, bytes } of limits) {
      expect((await change(path, { first: 'x'.repeat(bytes - 20 * KIB) })).status).toBe(200)
      expect((await change(path, { second: 'x'.repeat(40 * KIB) })).status).toBe(413)
    }
  })

  it('that exceeded the limit before it existed can be changed, up to the former limit', async () => {
    const siteId = await addSite(server, 'Old')
    const notes = 'x'.repeat(MIB - KIB)
    await sql`update site set doc = ${JSON.stringify({ notes })}::jsonb where id = ${siteId}`.execute(server.ctx.db)
    expect(await change(`/sites/${siteId}`, { timezone: 'Asia/Tokyo' })).toMatchObject({ status: 200, body: { notes } })
    expect((await change(`/sites/${siteId}`, { address: 'z'.repeat(2 * KIB) })).status).toBe(413)
    expect((await change(`/sites/${siteId}`, { notes: 'y'.repeat(100 * KIB) })).status).toBe(200)
    expect((await change(`/sites/${siteId}`, { notes: 'y'.repeat(200 * KIB) })).status).toBe(413)
  })
})
