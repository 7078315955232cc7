import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite } from '../../support/fleets/devices.ts'
import { addMxedge, lastRecords, makeMxedge } from '../../support/fleets/mxedges.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import { insertOrg } from '../../../src/orgs/store.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { systemScope } from '../../../src/access/scope.ts'

let server: TestServer
let siteId: string
let mxedges: string
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
  mxedges = `/orgs/${server.org.orgId}/mxedges`
})
afterAll(() => server.close())

const claim = (code: string, as = server.org) =>
  server.call('POST', `/orgs/${as.orgId}/mxedges/claim`, { as, body: { code } })
const get = async (id: string) => (await server.call('GET', `${mxedges}/${id}`)).body
const row = (id: string) =>
  server.ctx.db.selectFrom('mxedge').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

describe('a claim', () => {
  it('accepts the code of the label, in any spelling, and identifies the hardware by its MAC', async () => {
    const hardware = await makeMxedge(server.ctx)
    const { id, mac, serial, claim_code: code } = hardware
    const claimed = await claim(` ${code.toLowerCase().replace('-', '')} `)
    expect(claimed).toMatchObject({ status: 200, body: { id, magic: code } })
    expect(await get(id)).toMatchObject({ id, name: mac, mac, serial, model: 'ME-X5', magic: code, for_site: false })
    const { audit, event } = await lastRecords(server)
    expect(audit).toMatchObject({ message: `Claim edge appliance "${mac}"`, after: { mac, serial } })
    expect(event).toMatchObject({ type: 'ME_CONFIG_CHANGED_BY_USER', mxedge_id: id, mac, text: 'Claimed' })
    expect(JSON.stringify([audit, event])).not.toContain(code)
  })

  it('is refused for unknown and claimed codes, without naming the owner', async () => {
    const { claim_code: code } = await makeMxedge(server.ctx)
    const stranger = await server.addOrg('Stranger')
    expect((await claim(code, stranger)).status).toBe(200)
    expect(await claim(code, stranger)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('Invalid field code: '), reason: 'already claimed' },
    })
    for (const unknown of [code, 'NOBO-DY', '?', '--'])
      expect(await claim(unknown)).toMatchObject({
        status: 400,
        body: {
          detail: expect.stringContaining('Invalid field code: '),
          reason: 'no unclaimed edge appliance has this claim code',
        },
      })
  })

  it('is refused for the code of a device, and for the registration code of an appliance', async () => {
    const { magic } = await addMxedge(server)
    await makeMxedge(server.ctx, { claim_code: magic })
    expect((await claim(magic)).status).toBe(400)
  })

  it('succeeds for one of two concurrent requests', async () => {
    const { claim_code: code } = await makeMxedge(server.ctx)
    const stranger = await server.addOrg('Rival')
    const answers = await Promise.all([claim(code), claim(code, stranger)])
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400])
  })

  it('is possible again after the appliance was deleted', async () => {
    const { id, claim_code: code } = await makeMxedge(server.ctx)
    await claim(code)
    await server.call('PUT', `${mxedges}/${id}`, { body: { name: 'Mine' } })
    expect((await server.call('DELETE', `${mxedges}/${id}`)).status).toBe(200)
    const stranger = await server.addOrg('Next')
    expect((await claim(code, stranger)).status).toBe(200)
    const theirs = await server.call('GET', `/orgs/${stranger.orgId}/mxedges/${id}`, { as: stranger })
    expect(theirs.body).not.toMatchObject({ name: 'Mine' })
  })
})

describe('assigning', () => {
  const assign = (body: object) => server.call('POST', `${mxedges}/assign`, { body })
  const unassign = (ids: readonly string[]) => server.call('POST', `${mxedges}/unassign`, { body: { mxedge_ids: ids } })

  it('assigns appliances to a site and unassigns them, with events at both sites', async () => {
    const { id } = await addMxedge(server, { name: 'Moved' })
    const ids = [id, id.toUpperCase()]
    expect(await assign({ mxedge_ids: ids, site_id: siteId })).toMatchObject({ status: 200, body: { success: [id] } })
    expect(await get(id)).toMatchObject({ site_id: siteId, for_site: true })
    const first = await lastRecords(server)
    expect(first.audit).toMatchObject({ message: 'Assign edge appliance "Moved" to site Here', siteId })
    expect(first.event).toMatchObject({ mxedge_id: id, site_id: siteId, text: 'Assigned to site Here' })
    await assign({ mxedge_ids: [id], site_id: siteId })
    expect(await lastRecords(server)).toEqual(first)
    expect(await unassign([id])).toMatchObject({ status: 200, body: { success: [id] } })
    expect(await get(id)).not.toHaveProperty('site_id')
    const last = await lastRecords(server)
    expect(last.audit).toMatchObject({
      before: { mxedges: [{ id, site_id: siteId }] },
      after: { mxedges: [{ id, site_id: null }] },
    })
    expect(last.event).toMatchObject({ mxedge_id: id, site_id: siteId })
  })

  it('reports unknown ids, and changes nothing in another organization', async () => {
    const stranger = await server.addOrg('Stranger')
    const theirs = await addMxedge(server, {}, stranger)
    const mine = await addMxedge(server)
    const some = await assign({ mxedge_ids: [theirs.id, mine.id], site_id: siteId })
    expect(some).toMatchObject({
      status: 200,
      body: { success: [mine.id], error: [theirs.id], reason: ['not found'] },
    })
    expect(await unassign([theirs.id])).toMatchObject({ status: 400, body: { success: [], error: [theirs.id] } })
    const theirSite = await addSite(server, 'Theirs', stranger)
    expect((await assign({ mxedge_ids: [mine.id], site_id: theirSite })).status).toBe(404)
    expect((await assign({ mxedge_ids: [mine.id], site_id: randomUUID() })).status).toBe(404)
    expect(await get(mine.id)).toMatchObject({ site_id: siteId })
  })

  it('ends when the site is deleted: the appliance remains', async () => {
    const gone = await addSite(server, 'Gone')
    const { id } = await addMxedge(server, { name: 'Left' })
    await assign({ mxedge_ids: [id], site_id: gone })
    expect((await server.call('DELETE', `/sites/${gone}`)).status).toBe(200)
    expect(await get(id)).toMatchObject({ id, for_site: false })
    const { audit, event } = await lastRecords(server)
    expect(audit).toMatchObject({ message: 'Delete Site "Gone"', before: { name: 'Gone', mxedges: ['Left'] } })
    expect(event).toMatchObject({ mxedge_id: id, site_id: gone, audit_id: audit.id })
    expect(event.text).toBe('Unassigned: site Gone was deleted')
  })
})

describe.each(['restart', 'unregister'])('%s', (action) => {
  it('cancels the registration of the present appliance, so that another one can replace it', async () => {
    const hardware = await makeMxedge(server.ctx)
    const { id } = hardware
    await claim(hardware.claim_code)
    const registeredAt = new Date('2026-01-02T03:04:05Z')
    await server.ctx.db.updateTable('mxedge').set({ registeredAt }).where('id', '=', id).execute()
    expect(await get(id)).toMatchObject({ mxagent_registered: true })
    const { status, body } = await server.call('POST', `${mxedges}/${id}/${action}`)
    expect([status, body]).toEqual([200, {}])
    const after = await get(id)
    expect(after).toMatchObject({ id, mxagent_registered: false })
    expect(after.magic).not.toBe(hardware.claim_code)
    expect(await row(id)).toMatchObject({ registrationEpoch: 2, registeredAt: null, registrationCode: after.magic })
    const { audit, event } = await lastRecords(server)
    expect(audit).toMatchObject({
      message: `Restart the registration of edge appliance "${hardware.mac}"`,
      before: { registration_epoch: 1, mxagent_registered: true, registered_at: registeredAt.getTime() / 1000 },
      after: { registration_epoch: 2, mxagent_registered: false },
    })
    expect(event).toMatchObject({ mxedge_id: id, text: 'Registration restarted' })
    expect(JSON.stringify([audit, event])).not.toContain(after.magic)
  })

  it('starts a new epoch each time, also for concurrent requests', async () => {
    const { id } = await addMxedge(server)
    await Promise.all([1, 2, 3].map(() => server.call('POST', `${mxedges}/${id}/${action}`)))
    expect(await row(id)).toMatchObject({ registrationEpoch: 4 })
  })
})

describe('deleting an organization', () => {
  it('deletes its appliances, clusters and events; hardware can be claimed again', async () => {
    const { db } = server.ctx
    const orgId = randomUUID()
    const at = new Date()
    await inTx(server.ctx, (tx) => insertOrg(tx, systemScope('operator', orgId), { name: 'Leaving', doc: {}, at }))
    const { id, claim_code: code } = await makeMxedge(server.ctx)
    const ids = { orgId, id: randomUUID(), createdAt: at }
    await db
      .insertInto('mxcluster')
      .values({ ...ids, doc: documentText({}), modifiedAt: at })
      .execute()
    await db
      .insertInto('mxedge')
      .values({
        orgId,
        id,
        mxclusterId: ids.id,
        name: 'x',
        model: 'x',
        doc: documentText({}),
        registrationCode: code,
        createdAt: at,
        modifiedAt: at,
      })
      .execute()
    await db.updateTable('mxedgeRegistry').set({ orgId }).where('id', '=', id).execute()
    await db
      .insertInto('mxedgeEvent')
      .values({ ...ids, mxedgeId: id, type: 'X', event: '{}' })
      .execute()
    await db.deleteFrom('org').where('id', '=', orgId).execute()
    for (const table of ['mxedge', 'mxcluster', 'mxedgeEvent'] as const)
      expect(await db.selectFrom(table).select('id').where('orgId', '=', orgId).execute(), table).toEqual([])
    expect((await claim(code)).status).toBe(200)
  })
})

describe('a manifest', () => {
  const operator = { as: null, headers: { authorization: 'Operator operator-key' } }
  const post = (devices: object[]) => server.call('POST', '/operator/v1/manifest', { ...operator, body: { devices } })

  it('contains devices and edge appliances, and reports errors by the row numbers of the whole file', async () => {
    const rows = [
      { mac: '020000000a01', serial: 'S1', model: 'EAP102', claim_code: 'MIX00-00000-000AP' },
      { mac: '020000000a02', serial: 'S2', model: 'ME-X1', claim_code: 'MIX-00000000-ED-GE' },
      { mac: 'nonsense', serial: 'S3', model: 'ME-X1', claim_code: 'MIX000000000BAD' },
      { mac: '020000000a04', serial: 'S4', model: 'Box', type: 'mxedge', claim_code: 'mix00-00000-00box' },
      { mac: '020000000a05', serial: 'S5', model: 'Box', claim_code: 'MIX0000UNKNOWN0' },
    ]
    const conflicts = [
      { row: 2, mac: 'nonsense', reason: 'invalid mac' },
      { row: 4, mac: '020000000a05', reason: 'the model does not tell the type: give one' },
    ]
    expect(await post(rows)).toMatchObject({ status: 200, body: { imported: 3, unchanged: 0, conflicts } })
    expect(await post(rows)).toMatchObject({ status: 200, body: { imported: 0, unchanged: 3, conflicts } })
    const list = async () => (await server.call('GET', '/operator/v1/unclaimed-mxedges', operator)).body
    const box = { mac: '020000000a04', serial: 'S4', model: 'Box', type: 'mxedge', claim_code: 'MIX000000000BOX' }
    expect(await list()).toContainEqual(box)
    expect((await claim('mix000000000-box')).status).toBe(200)
    expect(await list()).not.toContainEqual(box)
    const changed = [{ ...box, serial: 'other' }]
    expect((await post(changed)).body.conflicts).toEqual([
      { row: 0, mac: box.mac, reason: 'claimed already, with other data' },
    ])
  })
})
