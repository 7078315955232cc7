// Edge appliances that another organization claims, or that leave their site, while an upgrade of their former place has yet to begin.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sweepFirmwareFiles } from '../../../../src/firmware/storage/storage.ts'
import { includeAllMxedges } from '../../../../src/upgrades/mxedges/include-new.worker.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import { bringUp, find, playUpgrades, targetsOf, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import { makeMxedge } from '../../../support/fleets/mxedges.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
})
afterAll(() => server.close())

const versions = { tunterm: '2.0.0' }

/** Claims new hardware, which registers and connects. @returns A function that moves it to another organization. */
async function addHardware(org: TestOrg) {
  const { id, claim_code: code } = await makeMxedge(server.ctx)
  const claim = async (as: TestOrg): Promise<void> => {
    expect(await server.call('POST', `/orgs/${as.orgId}/mxedges/claim`, { body: { code }, as })).toMatchObject({
      status: 200,
    })
    await bringUp(server, id, { org: as })
  }
  await claim(org)
  const moveTo = async (to: TestOrg): Promise<void> => {
    expect(await server.call('DELETE', `/orgs/${org.orgId}/mxedges/${id}`, { as: org })).toMatchObject({ status: 200 })
    await claim(to)
  }
  return { id, moveTo }
}

test('the new organization upgrades them at once, and the upgrade of the former one cancels them when it begins', async () => {
  const other = await server.addOrg()
  await uploadPackage(server, '2.0.0')
  await uploadPackage(server, '2.0.0', { org: other })
  const [stays, named, joins] = [
    await addHardware(server.org),
    await addHardware(server.org),
    await addHardware(server.org),
  ]
  const later = Math.floor(Date.now() / 1000) + 3600
  const { id: former } = await upgrade(server, {
    mxedge_ids: [stays.id, named.id, joins.id],
    versions,
    start_time: later,
  })
  await named.moveTo(other)
  const path = `/orgs/${other.orgId}/mxedges/upgrade`
  const started = await server.call('POST', path, { body: { versions, include_new: true }, as: other })
  expect(started).toMatchObject({ status: 200, body: { counts: { queued: 1 } } })
  await joins.moveTo(other)
  await server.ctx.db.updateTable('mxedgeUpgrade').set({ includeDueMs: 0 }).where('id', '=', started.body.id).execute()
  await includeAllMxedges(server.ctx)
  await playUpgrades(server, [], other.orgId)
  const ended = await server.call('GET', `${path}/${started.body.id}`, { as: other })
  expect(ended.body).toMatchObject({ status: 'completed', counts: { success: 2 } })
  await server.ctx.db
    .updateTable('mxedgeUpgrade')
    .set({ startAt: new Date(0) })
    .where('id', '=', former)
    .execute()
  await playUpgrades(server, [], server.org.orgId)
  expect(await find(server, former)).toMatchObject({ counts: { success: 1, cancelled: 2 } })
  const reasons = (await targetsOf(server, former)).flatMap(({ status, reason }) =>
    status === 'cancelled' ? [reason] : [],
  )
  expect(reasons).toEqual(['removed', 'removed'])
})

test('an upgrade that has yet to begin cancels an appliance that its organization has deleted and claimed again', async () => {
  const [stays, returns] = [await addHardware(server.org), await addHardware(server.org)]
  const start_time = Math.floor(Date.now() / 1000) + 3600
  const { id } = await upgrade(server, { mxedge_ids: [stays.id, returns.id], versions, start_time })
  await returns.moveTo(server.org)
  const startAt = new Date(0)
  await server.ctx.db.updateTable('mxedgeUpgrade').set({ startAt }).where('id', '=', id).execute()
  await playUpgrades(server, [], server.org.orgId)
  const ends = (await targetsOf(server, id)).map(({ mxedge_id, status }) => [mxedge_id, status])
  expect(new Map(ends as [string, string][])).toEqual(
    new Map([
      [stays.id, 'success'],
      [returns.id, 'cancelled'],
    ]),
  )
  // It registers as any other.
  const again = await upgrade(server, { mxedge_ids: [returns.id], versions })
  await playUpgrades(server, [], server.org.orgId)
  expect(await find(server, again.id)).toMatchObject({ counts: { success: 1 } })
})

test('an upgrade of a site cancels an appliance that has left the site', async () => {
  const { org } = server
  const [stays, leaves] = [await addHardware(org), await addHardware(org)]
  const { body: site } = await server.call('POST', `/orgs/${org.orgId}/sites`, { body: { name: 'Site' } })
  const place = { site_id: site.id, mxedge_ids: [stays.id, leaves.id] }
  await server.call('POST', `/orgs/${org.orgId}/mxedges/assign`, { body: place })
  const path = `/sites/${site.id}/mxedges/upgrade`
  const start_time = Math.floor(Date.now() / 1000) + 3600
  const { body } = await server.call('POST', path, { body: { versions, start_time, mxedge_ids: place.mxedge_ids } })
  await server.call('POST', `/orgs/${org.orgId}/mxedges/unassign`, { body: { mxedge_ids: [leaves.id] } })
  const startAt = new Date(0)
  await server.ctx.db.updateTable('mxedgeUpgrade').set({ startAt }).where('id', '=', body.id).execute()
  await playUpgrades(server, [], org.orgId)
  const ends = (await targetsOf(server, body.id)).map(({ mxedge_id, status, reason }) => [mxedge_id, status, reason])
  expect(new Set(ends)).toEqual(
    new Set([
      [stays.id, 'success', undefined],
      [leaves.id, 'cancelled', 'left the site'],
    ]),
  )
})
