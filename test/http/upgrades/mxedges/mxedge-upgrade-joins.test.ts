import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweepFirmwareFiles } from '../../../../src/firmware/storage/storage.ts'
import { anyOf, json } from '../../../../src/platform/database/db.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import { addBox, bringUp, running } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { addMxedge } from '../../../support/fleets/mxedges.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { joinsIn } from './joins.ts'
import { later } from './mxedge-upgrades-harness.ts'

let world: TestServer
beforeAll(async () => {
  world = await startTestServer()
  await sweepFirmwareFiles(world.ctx, { dir: join(world.dataDir, 'firmware') })
})
afterAll(() => world.close())

const { addOrg, inOrg, play, look, reports } = joinsIn(() => world)

describe('include_new', () => {
  /** An upgrade in a separate organization, with two appliances, of which one is absent. */
  async function begin(more: object = {}, given?: TestOrg) {
    const org = given ?? (await addOrg())
    const [absent, present] = [await addBox(world, { org }), await addBox(world, { org })]
    await world.ctx.db.updateTable('mxedgeSession').set({ connected: false }).where('mxedgeId', '=', absent).execute()
    const body = { versions: { tunterm: 'latest' }, include_new: true, ...more }
    const { body: record } = await inOrg(org, 'POST', '', body)
    await play(org.orgId)
    return { org, present, id: String(record.id), read: async () => (await inOrg(org, 'GET', `/${record.id}`)).body }
  }

  test('takes in appliances that join until the upgrade ends, with the version of the others', async () => {
    const { org, id, read, present } = await begin()
    expect(await read()).toMatchObject({ include_new: true, counts: { success: 1, queued: 1, total: 2 } })
    await uploadPackage({ ...world, org }, '3.0.0', { query: 'package=tunterm' })
    const joins = await addBox(world, { org })
    await reports(await addBox(world, { org }), '2.0.0')
    await look(id)
    expect(await read()).toMatchObject({ phase_sizes: [3], counts: { success: 1, queued: 2, total: 3 } })
    const targets = (await inOrg(org, 'GET', `/${id}/targets`)).body
    expect(targets.find(({ mxedge_id }: AnyJson) => mxedge_id === joins).steps).toMatchObject([{ to_version: '2.0.0' }])
    const logs = await world.call('GET', `/orgs/${org.orgId}/logs?limit=3`, { as: org })
    expect(logs.body.results.map(({ message }: AnyJson) => message)).toContain(
      `Upgrade ${id} takes in 1 further edge appliance`,
    )
    await play(org.orgId)
    expect((await read()).counts).toMatchObject({ success: 2, queued: 1 })
    await world.ctx.db.updateTable('mxedgeSession').set({ connected: true }).where('orgId', '=', org.orgId).execute()
    await play(org.orgId)
    expect(await read()).toMatchObject({ status: 'completed', counts: { success: 3, total: 3 } })
    await addBox(world, { org })
    await look(id)
    expect((await read()).counts.total).toBe(3)
    expect(present).not.toBe(joins)
  })

  test('looks at a few appliances at a time, and at all of them in turn', async () => {
    const { org, id, read } = await begin()
    // Nothing is to be done with those that come first, in any of its looks.
    const current = [await addBox(world, { org }), await addBox(world, { org }), await addBox(world, { org })]
    for (const each of current) await reports(each, '2.0.0')
    const wanted = [await addBox(world, { org }), await addBox(world, { org })].toSorted()
    const total = async () => (await read()).counts.total
    const totals: number[] = []
    for (let looks = 0; looks < 4; looks += 1) {
      await look(id, 2)
      totals.push(await total())
    }
    expect(totals).toEqual([2, 2, 3, 4])
    // A pass that has looked at all of them begins again.
    for (const each of current) await reports(each, '1.0.0')
    for (let looks = 0; looks < 4; looks += 1) await look(id, 2)
    expect(await total()).toBe(7)
    const { body } = await inOrg(org, 'GET', `/${id}/targets`)
    expect(body.slice(2, 4).map(({ mxedge_id }: AnyJson) => mxedge_id)).toEqual(wanted)
  })

  test('passes one by that makes its look fail, notes it until it joins, and takes in the others at once', async () => {
    const { org, id, read } = await begin()
    const boxes = []
    for (let box = 0; box < 5; box += 1) boxes.push(await addBox(world, { org }))
    const [failing = ''] = boxes.toSorted().slice(2)
    const report = (document: object) =>
      world.ctx.db
        .updateTable('mxedgeSession')
        .set({ report: json(document) as never })
        .where('mxedgeId', '=', failing)
        .execute()
    await report({ ...running('1.0.0'), services: [null] })
    await look(id)
    const reason = 'could not be taken in: an internal error'
    expect(await read()).toMatchObject({ counts: { total: 6 }, notes: [{ mxedge_id: failing, name: 'Edge', reason }] })
    await report(running('1.0.0'))
    await look(id)
    expect(await read()).toMatchObject({ counts: { total: 7 }, notes: [] })
  })

  test('says again why its plan skipped one that it passed by in the meantime', async () => {
    const org = await addOrg()
    const current = await addBox(world, { org })
    await reports(current, '2.0.0')
    const { id, read } = await begin({}, org)
    const { notes } = await read()
    expect(notes).toEqual([{ mxedge_id: current, reason: 'skipped: tunterm runs 2.0.0 already' }])
    await sql`update mxedge_session set report = jsonb_set(report, '{services}', '[null]') where mxedge_id = ${current}`.execute(
      world.ctx.db,
    )
    await look(id)
    expect((await read()).notes).toMatchObject([{ reason: 'could not be taken in: an internal error' }])
    await reports(current, '2.0.0')
    await look(id)
    expect((await read()).notes).toEqual(notes)
  })

  test('names a hundred that could not join, counts the others, and forgets those that need nothing any more', async () => {
    const { org, id, read } = await begin()
    const failing = await addBox(world, { org })
    await reports(failing, '2.0.0')
    const reason = 'could not be taken in: an internal error'
    await sql`insert into mxedge_upgrade_joining_failure
      select ${org.orgId}::uuid, ${id}::uuid, ${failing}::uuid, ${reason}
      union all select ${org.orgId}::uuid, ${id}::uuid, gen_random_uuid(), ${reason} from generate_series(1, 100)`.execute(
      world.ctx.db,
    )
    const { notes } = await read()
    expect(notes).toHaveLength(101)
    expect(notes[0]).toEqual({ reason: '1 further edge appliance could not be taken in' })
    await look(id)
    expect((await read()).notes).toEqual([])
  })

  test('has no notes of the former request about those that could not join once it is changed', async () => {
    const org = await addOrg()
    const box = await addBox(world, { org })
    const start_time = later()
    const body = { versions: { tunterm: 'latest' }, include_new: true, start_time }
    const busy = await addBox(world, { org })
    await inOrg(org, 'POST', '', { versions: body.versions, mxedge_ids: [busy], start_time })
    const { body: record } = await inOrg(org, 'POST', '', body)
    await sql`insert into mxedge_upgrade_joining_failure
      select ${org.orgId}::uuid, ${record.id}::uuid, ${box}::uuid, 'could not be taken in'`.execute(world.ctx.db)
    const path = `/orgs/${org.orgId}/mxedges/upgrade/${record.id}`
    const again = await world.call('PUT', path, { as: org, body: { ...record, start_time: start_time + 1 } })
    expect(again).toMatchObject({ status: 200, body: { awaited: 1, notes: [{ mxedge_id: busy }] } })
    const { body: changed } = await world.call('PUT', path, { as: org, body: { ...body, include_new: false } })
    expect(changed).toMatchObject({ include_new: false, notes: [{ mxedge_id: busy }] })
    expect(changed).not.toHaveProperty('awaited')
  })

  test('takes in appliances that its plan skipped, once nothing stands against them', async () => {
    const org = await addOrg()
    const [busy, current] = [await addBox(world, { org }), await addBox(world, { org })]
    await reports(current, '2.0.0')
    const fresh = String((await addMxedge(world, {}, org)).id)
    const body = { versions: { tunterm: 'latest' }, mxedge_ids: [busy], start_time: later() }
    const { body: other } = await inOrg(org, 'POST', '', body)
    const { id, read } = await begin({}, org)
    const noted = async () => (await read()).notes.flatMap(({ mxedge_id }: AnyJson) => mxedge_id ?? [])
    expect((await read()).counts).toMatchObject({ success: 1, queued: 1, skipped: 3, total: 5 })
    expect((await noted()).toSorted()).toEqual([busy, current, fresh].toSorted())
    await look(id)
    expect((await read()).counts).toMatchObject({ queued: 1, skipped: 3, total: 5 })
    await inOrg(org, 'POST', `/${other.id}/cancel`)
    await play(org.orgId)
    await bringUp(world, fresh, { org })
    await look(id)
    expect([(await read()).counts, await noted()]).toMatchObject([{ queued: 3, skipped: 1, total: 5 }, [current]])
    await reports(current, '1.0.0')
    await look(id)
    expect([(await read()).counts, await noted()]).toMatchObject([{ queued: 4, skipped: 0, total: 5 }, []])
    expect(await read()).toMatchObject({ phase_sizes: [5] })
    await play(org.orgId)
    expect((await read()).counts).toMatchObject({ success: 4, queued: 1, total: 5 })
    expect((await inOrg(org, 'GET', `/${id}/targets`)).body).toHaveLength(5)
  })

  test.each([
    ['big_bang', {}],
    ['canary', { canary_phases: [50] }],
    ['serial', {}],
  ])('awaits appliances of other upgrades after its end, with %s, until it is cancelled', async (strategy, fields) => {
    const org = await addOrg()
    const [busy, removed] = [await addBox(world, { org }), await addBox(world, { org })]
    const versions = { tunterm: 'latest' }
    const start_time = later()
    const { body: other } = await inOrg(org, 'POST', '', { versions, mxedge_ids: [busy, removed], start_time })
    const ids: string[] = []
    for (let index = 0; index < 2; index += 1)
      ids.push((await inOrg(org, 'POST', '', { versions, strategy, ...fields, include_new: true })).body.id)
    const [id = '', cancelled = ''] = ids
    const read = async (one = id) => (await inOrg(org, 'GET', `/${one}`)).body
    const note = (mxedge: string) => ({ mxedge_id: mxedge, reason: `skipped: it is in upgrade ${other.id}` })
    expect(await read()).toMatchObject({ status: 'completed', awaited: 2 })
    expect((await read()).notes).toEqual(expect.arrayContaining([note(busy), note(removed)]))
    await world.call('DELETE', `/orgs/${org.orgId}/mxedges/${removed}`, { as: org })
    // The next look deletes its note.
    expect(await read()).toMatchObject({ awaited: 1, notes: [expect.anything(), expect.anything()] })
    for (let time = 0; time < 2; time += 1) await inOrg(org, 'POST', `/${cancelled}/cancel`)
    const logs = await world.call('GET', `/orgs/${org.orgId}/logs?limit=2`, { as: org })
    expect(logs.body.results.map(({ message }: AnyJson) => message)).toEqual([
      `Cancel the search of upgrade ${cancelled} for further edge appliances`,
      expect.stringContaining('Delete'),
    ])
    await look(id)
    expect(await read()).toMatchObject({ status: 'completed', awaited: 1, notes: [note(busy)] })
    await inOrg(org, 'POST', `/${other.id}/cancel`)
    await play(org.orgId)
    await look(id)
    expect(await read(cancelled)).toMatchObject({ status: 'completed', counts: { queued: 0, skipped: 2 } })
    expect(await read(cancelled)).not.toHaveProperty('awaited')
    expect(await read()).toMatchObject({ status: 'queued', counts: { queued: 1 }, notes: [] })
    await play(org.orgId)
    expect(await read()).toMatchObject({ status: 'completed', counts: { success: 1 } })
    await look(id)
    const row = world.ctx.db.selectFrom('mxedgeUpgrade').select('includeDueMs').where('id', '=', id)
    expect(await row.executeTakeFirstOrThrow()).toEqual({ includeDueMs: null })
  })

  test('ends the search of an upgrade that a limit has stopped', async () => {
    const { id } = await begin()
    await world.ctx.db.updateTable('mxedgeUpgrade').set({ stopping: 'failed' }).where('id', '=', id).execute()
    await look(id)
    const row = world.ctx.db.selectFrom('mxedgeUpgrade').select('includeDueMs').where('id', '=', id)
    expect(await row.executeTakeFirstOrThrow()).toEqual({ includeDueMs: null })
  })

  test('keeps the windows of places where it has appliances, and takes those of the settings at others', async () => {
    const { org, id } = await begin()
    const windows = [{ start: '01:00', end: '05:00' }]
    const path = `/orgs/${org.orgId}`
    await world.call('PUT', `${path}/setting`, { as: org, body: { maintenance_windows: windows } })
    const site = await world.call('POST', `${path}/sites`, { as: org, body: { name: 'Site', timezone: 'UTC' } })
    await addBox(world, { org })
    const there = await addBox(world, { org })
    const body = { site_id: site.body.id, mxedge_ids: [there] }
    expect((await world.call('POST', `${path}/mxedges/assign`, { as: org, body })).status).toBe(200)
    await look(id)
    const { plan } = await world.ctx.db
      .selectFrom('mxedgeUpgrade')
      .select('plan')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    expect(plan).toMatchObject({ planned: 4, windows: [{ site_id: site.body.id, timezone: 'UTC', windows }] })
  })

  test('puts each into a phase of its own where the strategy is serial, and none once it was cancelled', async () => {
    const { org, id, read } = await begin({ strategy: 'serial' })
    await Promise.all([addBox(world, { org }), addBox(world, { org })])
    await look(id)
    expect(await read()).toMatchObject({ phase_sizes: [1, 1, 1, 1] })
    await inOrg(org, 'POST', `/${id}/cancel`)
    await addBox(world, { org })
    await look(id)
    expect((await read()).counts.total).toBe(4)
  })

  test('keeps members of a cluster in waves of their own, and is refused with mxedge_ids', async () => {
    const { org, id } = await begin()
    const cluster = await world.call('POST', `/orgs/${org.orgId}/mxclusters`, { as: org, body: { name: 'Pair' } })
    const body = { mxcluster_id: cluster.body.id }
    const pair = [await addBox(world, { org, body }), await addBox(world, { org, body })]
    await look(id)
    const rows = await world.ctx.db
      .selectFrom('mxedgeUpgradeTarget')
      .select('wave')
      .where('mxedgeId', '=', anyOf(pair))
      .execute()
    expect(rows.map(({ wave }) => wave).toSorted((a, b) => a - b)).toEqual([2, 3])
    const named = { mxedge_ids: pair, versions: { tunterm: 'latest' }, include_new: true }
    const refused = await inOrg(org, 'POST', '', named)
    expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining('Invalid field include_new')])
  })
})
