import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addSite, claimNewDevice, makeDevices } from '../../support/fleets/devices.ts'
import { lastRecords, makeMxedge } from '../../support/fleets/mxedges.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'

let server: TestServer
let path: string
beforeAll(async () => {
  server = await startTestServer()
  path = `/orgs/${server.org.orgId}/inventory`
})
afterAll(() => server.close())

const claim = (codes: readonly string[], as = server.org): Promise<Answer> =>
  server.call('POST', `/orgs/${as.orgId}/inventory`, { as, body: codes })
const change = (body: object): Promise<Answer> => server.call('PUT', path, { body })
const getMxedge = (id: string): Promise<Answer> => server.call('GET', `/orgs/${server.org.orgId}/mxedges/${id}`)

describe('a claim in the inventory', () => {
  it('claims devices and edge appliances, by codes in any spelling', async () => {
    const [device] = await makeDevices(server.ctx, 1)
    const edge = await makeMxedge(server.ctx)
    const spelt = edge.claim_code.toLowerCase().replace(/^(.{5})/, '$1-')
    const codes = [spelt, device?.claim_code ?? '', 'UNKNOWN', '***', edge.claim_code]
    const answer = await claim(codes)
    expect(answer).toMatchObject({
      status: 200,
      body: {
        added: [device?.claim_code, spelt],
        duplicated: [edge.claim_code],
        error: ['UNKNOWN', '***'],
        reason: ['not found', 'invalid claim code'],
      },
    })
    const { mac, serial, claim_code: magic } = edge
    expect(answer.body.inventory_added).toContainEqual({ mac, magic, model: 'ME-X5', serial, type: 'mxedge' })
    expect((await getMxedge(edge.id)).body).toMatchObject({ mac, magic, serial, for_site: false })
    expect(await lastRecords(server)).toMatchObject({ audit: { message: `Claim edge appliance "${mac}"` } })
    expect((await claim([magic])).body).toMatchObject({ added: [], duplicated: [magic] })
  })

  it('knows an edge appliance without a label by the code with which it registers', async () => {
    const made = await server.call('POST', `/orgs/${server.org.orgId}/mxedges`, { body: { name: 'v', model: 'VM' } })
    const { magic } = made.body
    const answer = await claim([magic.toLowerCase()])
    const item = { mac: '', magic, model: 'VM', serial: '', type: 'mxedge' }
    expect(answer).toMatchObject({ status: 200, body: { duplicated: [magic.toLowerCase()], error: [] } })
    expect(answer.body.inventory_duplicated).toEqual([item])
    expect((await claim([magic], await server.addOrg())).body).toMatchObject({ error: [magic], reason: ['not found'] })
    const registered = await server.call('POST', `/orgs/${server.org.orgId}/mxedges/claim`, { body: { code: magic } })
    expect(registered).toMatchObject({ status: 400, body: { reason: 'already claimed' } })
  })

  it('refuses an edge appliance of another organization, without naming it', async () => {
    const edge = await makeMxedge(server.ctx)
    const other = await server.addOrg()
    expect((await claim([edge.claim_code], other)).status).toBe(200)
    const answer = await claim([edge.claim_code])
    expect(answer).toMatchObject({ status: 400, body: { error: [edge.claim_code], reason: ['not found'] } })
    expect(JSON.stringify(answer.body)).not.toContain(other.orgId)
  })

  it('changes nothing when it fails in the middle', async () => {
    const [device] = await makeDevices(server.ctx, 1)
    const edge = await makeMxedge(server.ctx)
    // Another appliance has this id, so the insert fails after the device was claimed.
    const other = await server.addOrg()
    const now = new Date()
    const row = {
      orgId: other.orgId,
      id: edge.id,
      name: 'x',
      model: 'x',
      mac: null,
      serial: null,
      doc: documentText({}),
    }
    await server.ctx.db
      .insertInto('mxedge')
      .values({ ...row, registrationCode: randomUUID(), createdAt: now, modifiedAt: now })
      .execute()
    expect((await claim([device?.claim_code ?? '', edge.claim_code])).status).toBe(500)
    expect((await server.call('GET', `${path}?mac=${device?.mac}`)).body).toEqual([])
  })
})

describe('a change of the inventory', () => {
  it('assigns, unassigns and deletes devices and edge appliances together', async () => {
    const device = await claimNewDevice(server)
    const edge = await makeMxedge(server.ctx)
    await claim([edge.claim_code])
    const [here, there] = [await addSite(server, 'Here'), await addSite(server, 'There')]
    const names = { macs: ['nonsense', device.mac, 'aabbccddeeff'], serials: [edge.serial] }
    const refused = { error: ['nonsense', 'aabbccddeeff'], reason: ['invalid mac', 'not found'] }
    const both = { status: 200, body: { success: [device.mac, edge.serial], ...refused } }
    expect(await change({ op: 'assign', site_id: here, ...names })).toMatchObject(both)
    expect((await getMxedge(edge.id)).body).toMatchObject({ site_id: here, for_site: true })

    const macs = [edge.mac.toUpperCase()]
    expect(await change({ op: 'assign', site_id: there, macs, no_reassign: true })).toMatchObject({
      status: 400,
      body: { success: [], error: macs, reason: ['already assigned to another site'] },
    })
    expect(await change({ op: 'assign', site_id: there, macs })).toMatchObject({ body: { success: macs } })
    expect((await getMxedge(edge.id)).body).toMatchObject({ site_id: there })

    expect(await change({ op: 'unassign', ...names })).toMatchObject(both)
    expect((await getMxedge(edge.id)).body).toMatchObject({ for_site: false })
    expect(await change({ op: 'delete', ...names })).toMatchObject(both)
    expect((await getMxedge(edge.id)).status).toBe(404)
    expect(await lastRecords(server)).toMatchObject({ audit: { message: `Delete edge appliance "${edge.mac}"` } })
    expect(await change({ op: 'delete', macs })).toMatchObject({ status: 400, body: { reason: ['not found'] } })
    const other = await server.addOrg()
    expect((await claim([edge.claim_code], other)).body.added).toEqual([edge.claim_code])
  })

  it('does not reach edge appliances of another organization', async () => {
    const edge = await makeMxedge(server.ctx)
    const other = await server.addOrg()
    await claim([edge.claim_code], other)
    for (const op of ['unassign', 'delete'])
      expect(await change({ op, macs: [edge.mac], serials: [edge.serial] })).toMatchObject({
        status: 400,
        body: { error: [edge.mac, edge.serial], reason: ['not found', 'not found'] },
      })
    const theirs = await server.call('GET', `/orgs/${other.orgId}/mxedges/${edge.id}`, { as: other })
    expect(theirs.status).toBe(200)
  })

  it('leaves everything as it was where the site is unknown', async () => {
    const edge = await makeMxedge(server.ctx)
    await claim([edge.claim_code])
    expect((await change({ op: 'assign', site_id: randomUUID(), macs: [edge.mac] })).status).toBe(404)
    expect((await getMxedge(edge.id)).body).toMatchObject({ for_site: false })
  })
})
