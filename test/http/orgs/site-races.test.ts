import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { addSite } from '../../support/fleets/devices.ts'
import { addPerson } from '../../support/people.ts'
import { listenTo } from '../../support/peers/webhooks.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let siteId: string
beforeAll(async () => {
  server = await startTestServer()
  await listenTo(server, 'audits')
})
afterAll(() => server.close())
beforeEach(async () => {
  siteId = await addSite(server)
})

const put = (body: object, as?: TestOrg): Promise<Answer> =>
  server.call('PUT', `/sites/${siteId}`, { body, ...(as && { as }) })

async function recordsOfSite(): Promise<AnyJson[]> {
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?site_id=${siteId}&sort=timestamp&limit=100`)
  return body.results.slice(1) // behind its creation
}

/** Returns the ids of the records of the site whose events are queued. */
async function queuedIds(): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from webhook_outbox where site_id = ${siteId}
    and topic = 'audits' and id in (select id from audit_log where message like 'Update%') order by id`.execute(
    server.ctx.db,
  )
  return rows.map(({ id }) => id)
}

/** Starts a change while the row of the site is locked, and then makes another one. */
async function putBehind(
  body: object,
  other: ReturnType<typeof sql>,
  as?: TestOrg,
): Promise<{ answer: Answer; waited: string[] }> {
  const { ctx } = server
  let answering: Promise<Answer> | undefined
  const waited = await ctx.db.transaction().execute(async (tx) => {
    await sql`select from site where id = ${siteId} for update`.execute(tx)
    answering = put(body, as)
    await untilWaiting(server, 1)
    const { rows } = await sql<{ query: string }>`select query from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(ctx.db)
    await other.execute(tx)
    return rows.map(({ query }) => query.trim())
  })
  if (answering === undefined) throw new Error('unreachable: the change has started')
  return { answer: await answering, waited }
}

const ofVersion = /^with changed as \(\s*update site/

describe('a change of a site that was read with the token', () => {
  it('is one statement with its record and its event', async () => {
    const { answer, waited } = await putBehind({ name: 'Renamed' }, sql`select 1`)
    expect(answer).toMatchObject({ status: 200, body: { id: siteId, name: 'Renamed' } })
    expect(waited).toEqual([expect.stringMatching(ofVersion)])
    const records = await recordsOfSite()
    expect(records).toMatchObject([{ before: { name: 'Here' }, after: { name: 'Renamed' } }])
    expect(await queuedIds()).toEqual(records.map(({ id }) => id))
  })

  it('keeps what another change has written meanwhile, and records the difference to that', async () => {
    const { answer, waited } = await putBehind(
      { name: 'Mine' },
      sql`update site set name = 'Theirs', doc = doc || '{"notes": "theirs"}' where id = ${siteId}`,
    )
    expect(waited).toEqual([expect.stringMatching(ofVersion)])
    expect(answer).toMatchObject({ status: 200, body: { name: 'Mine', notes: 'theirs' } })
    const records = await recordsOfSite()
    expect(records).toMatchObject([{ before: { name: 'Theirs' }, after: { name: 'Mine' } }])
    expect(await queuedIds()).toEqual(records.map(({ id }) => id))
  })

  it('is not found and not recorded if the site is deleted meanwhile', async () => {
    const { answer } = await putBehind({ name: 'Late' }, sql`delete from site where id = ${siteId}`)
    expect(answer.status).toBe(404)
    expect(await queuedIds()).toEqual([])
    expect(await recordsOfSite()).toEqual([])
  })

  it('is not refused for the groups that an administrator has just given to the site', async () => {
    const as = await addPerson(server, [{ scope: 'site', role: 'write', site_id: siteId }])
    const group = await server.call('POST', `/orgs/${server.org.orgId}/sitegroups`, { body: { name: 'New' } })
    const groups = { sitegroup_ids: [group.body.id] }
    const { answer } = await putBehind(
      { ...groups, notes: 'mine' },
      sql`update site set doc = doc || ${JSON.stringify(groups)}::jsonb where id = ${siteId}`,
      as,
    )
    expect(answer).toMatchObject({ status: 200, body: { ...groups, notes: 'mine' } })
    // The groups are the administrator's change.
    const [record] = await recordsOfSite()
    expect(record).toMatchObject({ before: { name: 'Here' }, after: { name: 'Here', notes: 'mine' } })
    expect(record?.after).not.toHaveProperty('sitegroup_ids')
  })

  it('is refused for groups that an administrator has just taken from the site', async () => {
    const as = await addPerson(server, [{ scope: 'site', role: 'write', site_id: siteId }])
    const group = await server.call('POST', `/orgs/${server.org.orgId}/sitegroups`, { body: { name: 'Former' } })
    const groups = { sitegroup_ids: [group.body.id] }
    await put(groups)
    const { answer } = await putBehind(
      { ...groups, notes: 'mine' },
      sql`update site set doc = doc - 'sitegroup_ids' where id = ${siteId}`,
      as,
    )
    expect(answer).toMatchObject({ status: 403, body: { detail: expect.stringContaining('sitegroup_ids') } })
    expect(await recordsOfSite()).toHaveLength(1)
  })

  it('is one statement, without a lock, also beside others of the same site', async () => {
    const query = vi.spyOn(pg.Client.prototype, 'query')
    const texts: string[] = []
    try {
      const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => put({ [`field_${index}`]: index })))
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    } finally {
      for (const [sent] of query.mock.calls as unknown[][]) texts.push(String(Reflect.get(Object(sent), 'text')).trim())
      query.mockRestore()
    }
    expect(texts.filter((text) => ofVersion.test(text))).toHaveLength(8)
    expect(texts.filter((text) => text.includes('for no key update'))).toEqual([])
    expect(await recordsOfSite()).toHaveLength(8)
  })

  it('loses nothing beside many others', async () => {
    const fields = Array.from({ length: 24 }, (_, index) => `field_${index}`)
    await Promise.all(
      fields.map(async (field) => {
        const { status } = await put({ [field]: field })
        expect(status).toBe(200)
      }),
    )
    const { body } = await server.call('GET', `/sites/${siteId}`)
    expect(body).toMatchObject(Object.fromEntries(fields.map((field) => [field, field])))
    const records = await recordsOfSite()
    // Each record has the only field that its own change has added.
    const added = records.flatMap(({ before, after }) => Object.keys(after).filter((name) => !(name in before)))
    expect(added).toHaveLength(fields.length)
    expect(new Set(added)).toEqual(new Set(fields))
    expect(new Set(await queuedIds())).toEqual(new Set(records.map(({ id }) => id)))
  })
})

it('a large site is read after the body, and locked', async () => {
  const notes = 'n'.repeat(20_000)
  expect((await put({ notes })).status).toBe(200)
  const { answer, waited } = await putBehind({ name: 'Large' }, sql`select 1`)
  expect(waited).toEqual([expect.stringMatching(/^select \* from site .* for no key update$/)])
  expect(answer).toMatchObject({ status: 200, body: { name: 'Large', notes } })
})

it('a site whose document is unreadable fails only its own change, and not those of sites that are read with it', async () => {
  const unreadable = await addSite(server)
  await sql`update site set doc = doc || '{"psk": "sealed:AAAA"}' where id = ${unreadable}`.execute(server.ctx.db)
  const sites = await Promise.all(Array.from({ length: 5 }, () => addSite(server)))
  const answers = await Promise.all(
    [unreadable, ...sites].map((id) => server.call('PUT', `/sites/${id}`, { body: { notes: 'new' } })),
  )
  expect(answers.map(({ status }) => status)).toEqual([500, ...sites.map(() => 200)])
})
