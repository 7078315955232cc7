import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { addSite } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

vi.setConfig({ testTimeout: 120_000 })

const KIB = 1024
const MIB = 1024 * KIB
/** Without their limits, the edits of a page would take 15 MB, and old records of all sixteen answers 1.9 GB. */
const RECORDS = 60

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const change = (path: string, body: unknown) => server.call('PUT', path, { body })

describe('the audit log', () => {
  const logs = () => `/orgs/${server.org.orgId}/logs?limit=1000`

  it('stores the changed fields of an edit, with beginning and length of long values', async () => {
    const siteId = await addSite(server, 'Edited')
    await change(`/sites/${siteId}`, { notes: 'a'.repeat(100 * KIB), address: 'Here', country_code: 'DE' })
    await change(`/sites/${siteId}`, { notes: 'b'.repeat(100 * KIB), address: 'There' })
    const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1`)
    expect(body.results[0]).toMatchObject({ message: 'Update Site "Edited"', site_id: siteId })
    expect(body.results[0].before).toEqual({
      name: 'Edited',
      address: 'Here',
      notes: `${'a'.repeat(100)}... (102400 characters)`,
    })
    expect(body.results[0].after).toEqual({
      name: 'Edited',
      address: 'There',
      notes: `${'b'.repeat(100)}... (102400 characters)`,
    })
  })

  it('answers dozens of edits of the largest notes in one small page', async () => {
    const siteId = await addSite(server, 'Busy')
    for (let edit = 0; edit < RECORDS; edit += 1) {
      const notes = String(edit % 10).repeat(126 * KIB)
      expect((await change(`/sites/${siteId}`, { notes })).status).toBe(200)
    }
    const { body } = await server.call('GET', `${logs()}&site_id=${siteId}`)
    expect(body.results).toHaveLength(RECORDS + 1)
    expect(JSON.stringify(body).length).toBeLessThan(512 * KIB)
  })

  it('answers sixteen concurrent requests for all old records, of 2 MB each', async () => {
    const org = await server.addOrg('Records of before')
    const doc = sql`jsonb_build_object('notes', repeat('x', 1000000) || n)`
    await sql`insert into audit_log (org_id, id, message, before, after, created_at)
      select ${org.orgId}::uuid, gen_random_uuid(), 'Update Site', ${doc}, ${doc}, now() from generate_series(1, ${sql.lit(RECORDS)}) n
    `.execute(server.ctx.db)
    const path = `/orgs/${org.orgId}/logs?limit=1000`
    const answers = await Promise.all(Array.from({ length: 16 }, () => server.call('GET', path, { as: org })))
    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect(body).toMatchObject({ total: RECORDS + 1, limit: 1 })
      expect(JSON.stringify(body).length).toBeLessThan(4.2 * MIB)
    }
  })

  it('answers a record that exceeds a page alone', async () => {
    const org = await server.addOrg('Huge record')
    await sql`insert into audit_log (org_id, id, message, after, created_at)
      select ${org.orgId}::uuid, gen_random_uuid(), 'Update ' || n,
        jsonb_build_object('notes', repeat('x', case n when 1 then 6000000 else 1 end)), now() + n * interval '1 second'
      from generate_series(1, 3) n`.execute(server.ctx.db)
    const messages: string[] = []
    const far = '&end=4102444800&duration=5000w'
    for (let page = 1; page <= 3; page += 1) {
      const { status, body } = await server.call('GET', `/orgs/${org.orgId}/logs?limit=1000&page=${page}${far}`, {
        as: org,
      })
      expect(status).toBe(200)
      messages.push(...body.results.map(({ message }: { message: string }) => message))
    }
    expect(messages).toEqual(['Update 3', 'Update 2', 'Update 1'])
  })
})
