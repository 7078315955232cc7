import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweepFirmwareFiles } from '../../../../src/firmware/storage/storage.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import { addBox } from '../../../edge/upgrades/upgrade-world.ts'
import { untilWaiting } from '../../../support/database/until-waiting.ts'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { joinsIn } from './joins.ts'
import { later } from './mxedge-upgrades-harness.ts'

let world: TestServer
beforeAll(async () => {
  world = await startTestServer()
  await sweepFirmwareFiles(world.ctx, { dir: join(world.dataDir, 'firmware') })
})
afterAll(() => world.close())

const { addOrg, inOrg, play, look, reports } = joinsIn(() => world)

/** An upgrade that has ended, and awaits an appliance of another one, which was cancelled before it began. */
async function beginAwaiting() {
  const org = await addOrg()
  const busy = await addBox(world, { org })
  const versions = { tunterm: 'latest' }
  const start_time = later()
  const { body: other } = await inOrg(org, 'POST', '', { versions, mxedge_ids: [busy], start_time })
  const { body: record } = await inOrg(org, 'POST', '', { versions, include_new: true })
  await inOrg(org, 'POST', `/${other.id}/cancel`)
  await play(org.orgId)
  return { org, busy, other, record }
}

describe('an upgrade with include_new that awaits appliances of others', () => {
  test('says why one did not join once the other has ended with it', async () => {
    const { org, busy, record } = await beginAwaiting()
    await reports(busy, '2.0.0')
    await look(record.id)
    const reason = 'tunterm runs 2.0.0 already'
    const { body: after } = await inOrg(org, 'GET', `/${record.id}`)
    expect(after).toMatchObject({ status: 'completed', notes: [{ mxedge_id: busy, reason: `skipped: ${reason}` }] })
    expect(after).not.toHaveProperty('awaited')
    expect((await inOrg(org, 'GET', `/${record.id}/targets`)).body).toMatchObject([{ status: 'skipped', reason }])
  })

  test('says which upgrade has an appliance that it awaits, also once a further one has taken it over', async () => {
    const org = await addOrg()
    const busy = await addBox(world, { org })
    const start_time = later()
    const body = { versions: { tunterm: 'latest' }, mxedge_ids: [busy], start_time }
    await inOrg(org, 'POST', '', body)
    const { body: record } = await inOrg(org, 'POST', '', { versions: body.versions, include_new: true })
    const { body: further } = await inOrg(org, 'POST', '', { ...body, supersede: true })
    await look(record.id)
    const reason = `it is in upgrade ${further.id}`
    const note = { mxedge_id: busy, reason: `skipped: ${reason}` }
    expect((await inOrg(org, 'GET', `/${record.id}`)).body).toMatchObject({ awaited: 1, notes: [note] })
    expect((await inOrg(org, 'GET', `/${record.id}/targets`)).body).toMatchObject([{ status: 'skipped', reason }])
  })

  test('does not count an appliance that has left its site as awaited', async () => {
    const org = await addOrg()
    const { body: site } = await world.call('POST', `/orgs/${org.orgId}/sites`, { as: org, body: { name: 'Site' } })
    const ids = [await addBox(world, { org }), await addBox(world, { org })]
    const moved = { site_id: site.id, mxedge_ids: ids }
    await world.call('POST', `/orgs/${org.orgId}/mxedges/assign`, { as: org, body: moved })
    const versions = { tunterm: 'latest' }
    const start_time = later()
    await inOrg(org, 'POST', '', { versions, mxedge_ids: ids, start_time })
    const path = `/sites/${site.id}/mxedges/upgrade`
    const { body } = await world.call('POST', path, { as: org, body: { versions, include_new: true } })
    expect(body).toMatchObject({ awaited: 2 })
    const leaving = { mxedge_ids: ids.slice(1) }
    await world.call('POST', `/orgs/${org.orgId}/mxedges/unassign`, { as: org, body: leaving })
    expect((await world.call('GET', `${path}/${body.id}`, { as: org })).body).toMatchObject({ awaited: 1 })
  })

  test('still awaits an appliance that a further upgrade gets while a look waits for its lock', async () => {
    const { org, busy, other, record } = await beginAwaiting()
    let looking: Promise<void> | undefined
    await world.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('mxedge').select('id').where('id', '=', busy).forUpdate().execute()
      looking = look(record.id)
      await untilWaiting(world, 1)
      await tx.updateTable('mxedgeUpgradeTarget').set({ state: 'planned' }).where('upgradeId', '=', other.id).execute()
    })
    await looking
    expect((await inOrg(org, 'GET', `/${record.id}`)).body).toMatchObject({ status: 'completed', awaited: 1 })
  })

  test('does not give an appliance that it awaits another version once its own was deleted', async () => {
    const org = await addOrg()
    const busy = await addBox(world, { org })
    const versions = { tunterm: 'latest' }
    const { body: other } = await inOrg(org, 'POST', '', { versions, mxedge_ids: [busy], start_time: later() })
    await addBox(world, { org })
    const { body: record } = await inOrg(org, 'POST', '', { versions, include_new: true })
    await play(org.orgId)
    expect((await inOrg(org, 'GET', `/${record.id}`)).body).toMatchObject({ status: 'completed', awaited: 1 })
    await inOrg(org, 'POST', `/${other.id}/cancel`)
    await play(org.orgId)
    const { body: images } = await world.call('GET', `/orgs/${org.orgId}/firmware`, { as: org })
    for (const image of images) await world.call('DELETE', `/orgs/${org.orgId}/firmware/${image.id}`, { as: org })
    await uploadPackage({ ...world, org }, '3.0.0', { query: 'package=tunterm' })
    await look(record.id)
    const { body: after } = await inOrg(org, 'GET', `/${record.id}`)
    const reason = 'skipped: there is no tunterm 2.0.0 for its distribution bookworm'
    expect(after).toMatchObject({ status: 'completed', notes: [{ mxedge_id: busy, reason }] })
    expect(after).not.toHaveProperty('awaited')
  })
})
