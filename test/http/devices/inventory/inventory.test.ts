import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { importManifest } from '../../../../src/devices/registry/import-manifest.ts'
import { listUnclaimed } from '../../../../src/devices/registry/store.ts'
import { documentText } from '../../../../src/platform/sealing/document-column.ts'
import { giveToUpgrade } from '../../../support/fleets/device-upgrades.ts'
import {
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
  makeDevices,
} from '../../../support/fleets/devices.ts'
import { makeMxedge } from '../../../support/fleets/mxedges.ts'
import { type Answer, type TestServer, startTestServer } from '../../../support/servers/server.ts'

let server: TestServer
let path: string
beforeAll(async () => {
  server = await startTestServer()
  path = `/orgs/${server.org.orgId}/inventory`
})
afterAll(() => server.close())

async function eventTypes(deviceId: string): Promise<string[]> {
  const rows = await server.ctx.db
    .selectFrom('deviceEvent')
    .select('type')
    .where('deviceId', '=', deviceId)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()
  return rows.map(({ type }) => type)
}

async function auditMessages(orgId = server.org.orgId): Promise<string[]> {
  const rows = await server.ctx.db.selectFrom('auditLog').select('message').where('orgId', '=', orgId).execute()
  return rows.map(({ message }) => message)
}

const list = (query: string): Promise<Answer> => server.call('GET', `${path}?${query}`)

describe('claim', () => {
  it('accepts a code in any spelling, once, with its audit record and events', async () => {
    const [one, two] = await makeDevices(server.ctx, 2)
    const codes = [one?.claim_code.toLowerCase(), two?.claim_code.replace(/^(.{5})(.{5})/, '$1-$2-')]
    const first = await server.call('POST', path, { body: codes })
    expect(first).toMatchObject({ status: 200, body: { added: codes, duplicated: [], error: [], reason: [] } })
    expect(first.body.inventory_added).toContainEqual({
      mac: one?.mac,
      magic: expect.stringMatching(/^[0-9A-Z]{15}$/),
      model: 'AP45',
      serial: one?.serial,
      type: 'ap',
    })
    expect(first.body).not.toHaveProperty('inventory_duplicated')
    const second = await server.call('POST', path, { body: codes })
    expect(second).toMatchObject({ status: 200, body: { added: [], duplicated: codes, error: [] } })
    expect(await eventTypes(one?.id ?? '')).toEqual(['AP_CLAIMED'])
    expect(await auditMessages()).toContain('Claim 2 devices')
  })

  it('claims what it can and reports the other codes, without naming the owner of a device', async () => {
    const [mine, theirs] = await makeDevices(server.ctx, 2)
    const other = await server.addOrg()
    await server.call('POST', `/orgs/${other.orgId}/inventory`, { as: other, body: [theirs?.claim_code] })
    const body = [mine?.claim_code, theirs?.claim_code, 'NEVER-MADE1', '***']
    const answer = await server.call('POST', path, { body })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        added: [mine?.claim_code],
        error: body.slice(1),
        reason: ['not found', 'not found', 'invalid claim code'],
      },
    })
    expect(JSON.stringify(answer.body)).not.toContain(other.orgId)
  })

  it('limits how many wrong codes an organization tries, and an account in all of its organizations', async () => {
    const guesser = await server.addOrg('Guesser')
    const guess = (codes: string[]) =>
      server.call('POST', `/orgs/${guesser.orgId}/inventory`, { as: guesser, body: codes })
    const wrong = Array.from({ length: 1000 }, (_, index) => `WRONG${index}`)
    expect((await guess(wrong)).status).toBe(400)
    const [free] = await makeDevices(server.ctx, 1)
    const code = free?.claim_code ?? ''
    expect(await guess([code])).toMatchObject({
      status: 429,
      body: { detail: 'Too Many Request. 1000 claim codes were wrong within the hour.' },
    })
    const edge = await server.call('POST', `/orgs/${guesser.orgId}/mxedges/claim`, { as: guesser, body: { code } })
    expect(edge.status).toBe(429)
    // Another organization of the same account does not begin anew.
    const { body: second } = await server.call('POST', '/orgs', { as: guesser, body: { name: 'Second' } })
    const elsewhere = await server.call('POST', `/orgs/${second.id}/inventory`, { as: guesser, body: [code] })
    expect(elsewhere.status).toBe(429)
    expect(await server.call('POST', path, { body: [code] })).toMatchObject({ status: 200, body: { added: [code] } })
  })

  it('answers 400 with the same lists if nothing could be claimed', async () => {
    expect(await server.call('POST', path, { body: ['NEVER-MADE1'] })).toMatchObject({
      status: 400,
      body: {
        detail: 'No device could be claimed: NEVER-MADE1 (not found)',
        error: ['NEVER-MADE1'],
        reason: ['not found'],
      },
    })
    const several = await server.call('POST', path, { body: ['NEVER-MADE1', '***', 'NEVER-MADE2', 'NEVER-MADE3'] })
    expect(several.body.detail).toBe(
      'No device could be claimed: NEVER-MADE1 (not found), *** (invalid claim code), NEVER-MADE2 (not found), 1 more',
    )
  })

  it('answers 400 with a list of reasons if the request itself is not understood', async () => {
    for (const [method, body] of [
      ['POST', {}],
      ['PUT', { op: 'fly' }],
    ] as const) {
      const answer = await server.call(method, path, { body })
      expect(answer).toMatchObject({ status: 400, body: { reason: [expect.any(String)] } })
      expect(answer.body.detail).toContain(answer.body.reason[0])
    }
  })

  it.each([
    ['malformed JSON', '["A'],
    ['a body that is not a list', {}],
    ['an empty list', []],
    ['a number', [1]],
    ['an empty body', ''],
    ['too many', Array.from({ length: 1001 }, (_, index) => `C${index}`)],
  ])('refuses %s', async (_what, body) => {
    const answer = await server.call('POST', path, { body })
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.any(String) } })
  })

  it('refuses a body of 10 MB', async () => {
    const answer = await server.call('POST', path, { body: ['X'.repeat(10 * 1024 * 1024)] })
    expect(answer).toMatchObject({ status: 413, body: { detail: expect.any(String) } })
  })

  it('takes over the session of a connected device', async () => {
    const [device] = await makeDevices(server.ctx, 1)
    await connectDevice(server.ctx, device?.mac ?? '', { firmware: '3.1' })
    await server.call('POST', path, { body: [device?.claim_code] })
    expect((await list(`mac=${device?.mac}`)).body).toMatchObject([{ connected: true }])
    expect(await eventTypes(device?.id ?? '')).toEqual(expect.arrayContaining(['AP_CLAIMED', 'AP_CONNECTED']))
  })

  it('shows a device as connected that was deleted and claimed again while it was connected', async () => {
    const device = await claimNewDevice(server)
    await connectDevice(server.ctx, device.mac, { firmware: '3.1' })
    const body = { op: 'delete', macs: [device.mac] }
    expect((await server.call('PUT', path, { body })).status).toBe(200)
    // The device is unclaimed now: it connects once more, without an event.
    await connectDevice(server.ctx, device.mac, { firmware: '3.2' })
    expect((await server.call('POST', path, { body: [device.claim_code] })).status).toBe(200)
    expect((await list(`mac=${device.mac}`)).body).toMatchObject([{ connected: true }])
  })

  it('changes nothing when it fails in the middle', async () => {
    const [device] = await makeDevices(server.ctx, 1)
    // This device row is inconsistent, so the insert fails after the registry row was found unclaimed.
    const other = await server.addOrg()
    await server.ctx.db
      .insertInto('device')
      .values({
        orgId: other.orgId,
        id: device?.id ?? '',
        mac: device?.mac ?? '',
        serial: 'x',
        model: 'x',
        type: 'ap',
        claimCode: 'x',
        doc: documentText({}),
        createdAt: new Date(),
        modifiedAt: new Date(),
      })
      .execute()
    const before = await auditMessages()
    expect((await server.call('POST', path, { body: [device?.claim_code] })).status).toBe(500)
    expect(await auditMessages()).toEqual(before)
    expect(await eventTypes(device?.id ?? '')).toEqual([])
    const found = await server.ctx.db
      .selectFrom('deviceRegistry')
      .select('orgId')
      .where('id', '=', device?.id ?? '')
      .executeTakeFirst()
    expect(found).toEqual({ orgId: null })
  })

  it('assigns a device to one of two organizations that claim it concurrently', async () => {
    const [device] = await makeDevices(server.ctx, 1)
    const other = await server.addOrg()
    const claims = await Promise.all([
      server.call('POST', path, { body: [device?.claim_code] }),
      server.call('POST', `/orgs/${other.orgId}/inventory`, { as: other, body: [device?.claim_code] }),
    ])
    expect(claims.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400])
  })
})

describe('assign, unassign, delete', () => {
  it('moves a device between sites and deletes it from the inventory', async () => {
    const device = await claimNewDevice(server)
    const { mac, id, claim_code } = device
    const [first, second] = [await addSite(server, 'First'), await addSite(server, 'Second')]
    const put = (body: object) => server.call('PUT', path, { body: { macs: [mac], ...body } })

    expect(await put({ op: 'assign', site_id: first, managed: true })).toMatchObject({
      status: 200,
      body: { op: 'assign', success: [mac], error: [], reason: [] },
    })
    expect((await server.call('GET', `/sites/${first}/devices/${id}`)).body).toMatchObject({
      managed: true,
      site_id: first,
    })
    expect(await put({ op: 'assign', site_id: second, no_reassign: true })).toMatchObject({
      status: 400,
      body: { success: [], error: [mac], reason: ['already assigned to another site'] },
    })
    expect((await put({ op: 'assign', site_id: second, macs: [mac.toUpperCase()] })).body.success).toEqual([
      mac.toUpperCase(),
    ])
    expect((await put({ op: 'unassign' })).body.success).toEqual([mac])
    expect((await put({ op: 'unassign' })).body.success).toEqual([mac])
    expect((await list(`mac=${mac}`)).body[0]).not.toHaveProperty('site_id')
    expect((await put({ op: 'delete' })).body.success).toEqual([mac])
    expect(await put({ op: 'delete' })).toMatchObject({ status: 400, body: { error: [mac], reason: ['not found'] } })
    expect((await list(`mac=${mac}`)).body).toEqual([])
    expect(await eventTypes(id)).toEqual(['AP_CLAIMED', 'AP_ASSIGNED', 'AP_ASSIGNED', 'AP_UNASSIGNED', 'AP_UNCLAIMED'])

    const other = await server.addOrg()
    const again = await server.call('POST', `/orgs/${other.orgId}/inventory`, { as: other, body: [claim_code] })
    expect(again.body.added).toEqual([claim_code])
  })

  it('reports each device of a list, by mac or serial', async () => {
    const [one, two] = await claimNewDevices(server, 2)
    const site_id = await addSite(server)
    const body = {
      op: 'assign',
      site_id,
      macs: [one?.mac, 'nonsense', 'aabbccddeeff'],
      serials: [two?.serial, one?.serial],
    }
    expect(await server.call('PUT', path, { body })).toMatchObject({
      status: 200,
      body: {
        success: [one?.mac, two?.serial],
        error: ['nonsense', 'aabbccddeeff'],
        reason: ['invalid mac', 'not found'],
      },
    })
  })

  it('changes nothing where no device is named', async () => {
    const site_id = await addSite(server)
    const before = await auditMessages()
    for (const body of [
      { op: 'delete' },
      { op: 'delete', macs: [], serials: [] },
      { op: 'unassign' },
      { op: 'unassign', macs: [] },
      { op: 'assign', site_id, macs: [] },
    ])
      expect(await server.call('PUT', path, { body }), JSON.stringify(body)).toMatchObject({
        status: 200,
        body: { op: body.op, success: [], error: [], reason: [] },
      })
    expect(await auditMessages()).toEqual(before)
  })

  it('leaves devices and edge appliances with the service, which manages them all', async () => {
    const device = await claimNewDevice(server)
    const edge = await makeMxedge(server.ctx)
    await server.call('POST', path, { body: [edge.claim_code] })
    const before = await auditMessages()
    const names = { macs: [device.mac, edge.mac, 'aabbccddeeff'], serials: ['nobody'] }
    expect(await server.call('PUT', path, { body: { op: 'upgrade_to_mist', ...names } })).toMatchObject({
      status: 200,
      body: {
        op: 'upgrade_to_mist',
        success: [device.mac, edge.mac],
        error: ['aabbccddeeff', 'nobody'],
        reason: ['not found', 'not found'],
      },
    })
    expect(
      await server.call('PUT', path, { body: { op: 'downgrade_to_jsi', macs: [device.mac, edge.mac] } }),
    ).toMatchObject({
      status: 400,
      body: {
        op: 'downgrade_to_jsi',
        success: [],
        error: expect.arrayContaining([device.mac, edge.mac]),
        reason: ['there is no other service to manage it', 'there is no other service to manage it'],
      },
    })
    expect((await list(`mac=${device.mac}`)).body).toMatchObject([{ jsi: false }])
    expect(await auditMessages()).toEqual(before)
  })

  it('refuses to delete a device in a running upgrade', async () => {
    const device = await claimNewDevice(server)
    await giveToUpgrade(server.ctx.db, device.id)
    expect(await server.call('PUT', path, { body: { op: 'delete', macs: [device.mac] } })).toMatchObject({
      status: 400,
      body: { reason: ['in a running upgrade'] },
    })
    expect((await list(`mac=${device.mac}`)).body).toHaveLength(1)
  })

  it('changes nothing for a site of another organization', async () => {
    const device = await claimNewDevice(server)
    const other = await server.addOrg()
    const site_id = await addSite(server, 'Theirs', other)
    const answer = await server.call('PUT', path, { body: { op: 'assign', site_id, macs: [device.mac] } })
    expect(answer).toMatchObject({ status: 404, body: { detail: 'Not found.', id: site_id } })
    expect((await list(`mac=${device.mac}`)).body[0]).not.toHaveProperty('site_id')
  })

  it.each([
    ['an unknown op', { op: 'explode', macs: ['aabbccddeeff'] }, 'op'],
    ['a missing op', { macs: ['aabbccddeeff'] }, 'op'],
    ['a missing site', { op: 'assign', macs: ['aabbccddeeff'] }, 'site_id'],
    ['a site that is not a UUID', { op: 'assign', site_id: '7', macs: ['aabbccddeeff'] }, 'site_id'],
    ['macs of a wrong type', { op: 'delete', macs: 'aabbccddeeff' }, 'macs'],
  ])('refuses %s', async (_what, body, field) => {
    const answer = await server.call('PUT', path, { body })
    expect(answer.status).toBe(400)
    expect(answer.body.detail).toContain(field)
  })
})

describe('manifest', () => {
  const unclaimed = async () => (await listUnclaimed(server.ctx.db, { limit: 1000, page: 1 })).rows

  it('is imported once, and reports each conflicting row', async () => {
    const row = { mac: '02:00:00:00:01:01', serial: 'M1', model: 'AP45', claim_code: 'MAN11-FEST1-00001' }
    expect(await importManifest(server.ctx, [row])).toEqual({ imported: 1, unchanged: 0, conflicts: [] })
    expect(await importManifest(server.ctx, [row])).toEqual({ imported: 0, unchanged: 1, conflicts: [] })
    expect(await unclaimed()).toContainEqual(expect.objectContaining({ mac: '020000000101', orgId: null }))
    await server.call('POST', path, { body: [row.claim_code] })
    expect(await unclaimed()).not.toContainEqual(expect.objectContaining({ mac: '020000000101' }))
    const other = { ...row, mac: '020000000102' }
    const report = await importManifest(server.ctx, [
      { ...row, serial: 'M2' },
      { ...other, claim_code: 'man11fest100001' },
      { ...other, claim_code: 'OTHER-CODE1-00001' },
    ])
    expect(report).toEqual({
      imported: 1,
      unchanged: 0,
      conflicts: [
        { row: 0, mac: '020000000101', reason: 'claimed already, with other data' },
        { row: 1, mac: '020000000102', column: 'claim_code', reason: expect.stringContaining('another') },
      ],
    })
  })

  it('overrides the data of a device that was known only from its connection', async () => {
    await connectDevice(server.ctx, '020000000103', { model: 'unknown' })
    const row = { mac: '020000000103', serial: 'M3', model: 'EAP102', claim_code: 'HELD1-HELD1-HELD1' }
    expect((await importManifest(server.ctx, [row])).imported).toBe(1)
    expect((await server.call('POST', path, { body: ['HELD1-HELD1-HELD1'] })).body.inventory_added).toMatchObject([
      { model: 'EAP102' },
    ])
    expect((await list('mac=020000000103')).body).toMatchObject([{ connected: true, serial: 'M3' }])
  })
})
