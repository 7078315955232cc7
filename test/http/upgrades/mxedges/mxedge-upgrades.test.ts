import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addMxedge } from '../../../support/fleets/mxedges.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import {
  addBox,
  deleteUpgrade,
  find,
  pathOf,
  planUpgrade,
  targetsOf,
  upgrade,
} from '../../../edge/upgrades/upgrade-world.ts'
import { type TestServer, startTestServer } from '../../../support/servers/server.ts'
import { sweepFirmwareFiles } from '../../../../src/firmware/storage/storage.ts'
import { join } from 'node:path'

// Without a worker upgrades stay queued.
let world: TestServer
/** Appliances with tunterm and mxagent 1.0.0 on bookworm. */
let boxes: string[]
let siteId: string
beforeAll(async () => {
  world = await startTestServer()
  await sweepFirmwareFiles(world.ctx, { dir: join(world.dataDir, 'firmware') })
  await uploadPackage(world, '2.0.0', { query: 'package=tunterm&default=true' })
  await uploadPackage(world, '2.5.0', { query: 'package=tunterm&channel=beta' })
  await uploadPackage(world, '0.9.0', { query: 'package=tunterm' })
  await uploadPackage(world, '7.0.0', { query: 'package=tunterm&distro=trixie' })
  await uploadPackage(world, '2.0.0', { query: 'package=mxdas' })
  boxes = []
  for (let index = 0; index < 7; index += 1) boxes.push(await addBox(world))
  const site = { name: 'Site', timezone: 'UTC' }
  siteId = (await world.call('POST', `/orgs/${world.org.orgId}/sites`, { body: site })).body.id
})
afterAll(() => world.close())

const post = (body: object) => world.call('POST', pathOf(world), { body })
const cancel = (id: string) => deleteUpgrade(world, id)
const tunterm = (version: string, more: object = {}) => ({
  mxedge_ids: [boxes[0]],
  versions: { tunterm: version },
  ...more,
})
const reasonOf = async (body: object): Promise<string> => {
  const answer = await post(body)
  expect(answer.status).toBe(400)
  return answer.body.detail
}
const plan = (body: object) => planUpgrade(world, body)

describe('the record of an upgrade', () => {
  test('shows the request with its defaults, by POST, GET and in the list', async () => {
    const record = await upgrade(world, tunterm('latest'))
    expect(record).toEqual({
      id: expect.any(String),
      org_id: world.org.orgId,
      status: 'queued',
      strategy: 'big_bang',
      channel: 'stable',
      versions: {
        mxagent: 'current',
        mxdas: 'current',
        mxocproxy: 'current',
        radsecproxy: 'current',
        tunterm: 'latest',
      },
      allow_downgrades: { mxagent: false, mxdas: false, mxocproxy: false, radsecproxy: false, tunterm: false },
      start_time: expect.any(Number),
      phase: 1,
      phase_sizes: [1],
      counts: { queued: 1, upgrading: 0, success: 0, failed: 0, skipped: 0, cancelled: 0, total: 1 },
      created_time: expect.any(Number),
      creator: { admin_id: world.org.adminId, name: world.org.email },
      notes: [],
      phase_times: [],
    })
    expect(await find(world, record.id)).toEqual(record)
    const { notes: _, phase_times: __, creator: ___, ...item } = record
    expect((await world.call('GET', pathOf(world))).body).toEqual([item])
    expect(await targetsOf(world, record.id)).toEqual([
      {
        mxedge_id: boxes[0],
        name: 'Edge',
        status: 'queued',
        phase: 1,
        attempts: 0,
        steps: [{ service: 'tunterm', from_version: '1.0.0', to_version: '2.0.0', done: false }],
      },
    ])
    await cancel(record.id)
  })

  test('shows every field that was sent', async () => {
    const body = {
      mxedge_ids: [boxes[0], boxes[1]],
      strategy: 'canary',
      channel: 'beta',
      versions: { tunterm: 'latest' },
      allow_downgrades: { mxagent: true },
      canary_phases: [50, 100],
      max_failures: [0, 1],
      max_failure_percentage: 20,
      start_time: Math.floor(world.ctx.clock.now().getTime() / 1000) + 3600,
    }
    const { record } = await plan(body)
    const { mxedge_ids: _, versions, allow_downgrades, ...rest } = body
    expect(record).toMatchObject({ ...rest, phase_sizes: [1, 1], status: 'queued' })
    expect([record.versions, record.allow_downgrades]).toMatchObject([versions, allow_downgrades])
  })

  test('shows the defaults that apply to its strategy', async () => {
    const start_time = Math.floor(world.ctx.clock.now().getTime() / 1000) + 3600
    const recordOf = async (strategy: string) => (await plan({ strategy, start_time })).record
    expect(await recordOf('canary')).toMatchObject({ canary_phases: [1, 10, 50, 100], max_failure_percentage: 5 })
    const serial = await recordOf('serial')
    expect([serial.canary_phases, serial.max_failure_percentage]).toEqual([undefined, 5])
    const bigBang = await recordOf('big_bang')
    expect([bigBang.canary_phases, bigBang.max_failure_percentage]).toEqual([undefined, undefined])
  })
})

describe('mxedge_ids', () => {
  test('missing are all appliances of the organization', async () => {
    expect((await plan({ versions: { tunterm: 'latest' } })).record.counts.queued).toBe(7)
  })

  test('may be none, which the record says', async () => {
    const { record } = await plan({ mxedge_ids: [] })
    expect(record).toMatchObject({
      counts: { total: 0 },
      notes: [{ reason: 'mxedge_ids is empty, so the upgrade has no edge appliances' }],
    })
  })

  test('that are unknown or of another organization are named', async () => {
    const other = await world.addOrg('Other')
    const foreign = (await addMxedge(world, {}, other)).id
    const unknown = randomUUID()
    expect(await reasonOf({ mxedge_ids: [boxes[0], foreign, unknown] })).toBe(
      `Invalid field mxedge_ids: this organization has no edge appliance ${foreign}, ${unknown}`,
    )
  })

  test('of another site are unknown at a site; those of the site are all, where none is named', async () => {
    const path = `/sites/${siteId}/mxedges/upgrade`
    const answer = await world.call('POST', path, { body: tunterm('latest') })
    expect(answer.body.detail).toBe(`Invalid field mxedge_ids: this site has no edge appliance ${boxes[0]}`)
    const body = { mxedge_ids: [boxes[6]], site_id: siteId }
    await world.call('POST', `/orgs/${world.org.orgId}/mxedges/assign`, { body })
    const { body: record } = await world.call('POST', path, { body: { versions: { tunterm: 'latest' } } })
    expect(record).toMatchObject({ site_id: siteId, counts: { total: 1 } })
    expect((await world.call('GET', path)).body).toMatchObject([{ id: record.id }])
    expect((await world.call('GET', `${path}/${record.id}/targets`)).body).toMatchObject([{ mxedge_id: boxes[6] }])
    const elsewhere = await upgrade(world, tunterm('latest'))
    expect((await world.call('GET', `${path}/${elsewhere.id}`)).status).toBe(404)
    await Promise.all([cancel(record.id), cancel(elsewhere.id)])
    await world.call('POST', `/orgs/${world.org.orgId}/mxedges/unassign`, { body: { mxedge_ids: [boxes[6]] } })
  })
})

describe('versions', () => {
  const stepsOf = async (body: object) =>
    (await plan(body)).targets[0]?.steps.map(
      ({ service, to_version: to }: Record<string, string>) => `${service} ${to}`,
    )

  test.each([
    ['latest', {}, '2.0.0'],
    ['latest', { channel: 'beta' }, '2.5.0'],
    ['default', {}, '2.0.0'],
    ['2.5.0', {}, '2.5.0'],
    ['0.9.0', { allow_downgrades: { tunterm: true } }, '0.9.0'],
  ])('%s with %j is %s', async (version, more, expected) => {
    expect(await stepsOf(tunterm(version, more))).toEqual([`tunterm ${expected}`])
  })

  test('of several services are installed the agent first', async () => {
    await uploadPackage(world, '5.0.0', { query: 'package=mxagent' })
    const body = { mxedge_ids: [boxes[0]], versions: { tunterm: 'latest', mxagent: 'latest' } }
    expect(await stepsOf(body)).toEqual(['mxagent 5.0.0', 'tunterm 2.0.0'])
  })

  test.each([
    [
      'a lower one',
      { tunterm: '0.9.0' },
      'tunterm 0.9.0 is lower than its 1.0.0, and allow_downgrades.tunterm is not set',
    ],
    ['one for another distribution', { tunterm: '7.0.0' }, 'there is no tunterm 7.0.0 for its distribution bookworm'],
    ['one of a service that it lacks', { mxdas: 'latest' }, 'it has no service mxdas'],
    ['current', { tunterm: 'current' }, 'every service stays at its current version'],
  ])('%s skips the appliance, with the reason', async (_title, versions, reason) => {
    const { record, targets } = await plan({ mxedge_ids: [boxes[0]], versions })
    expect(record.notes).toEqual([{ mxedge_id: boxes[0], reason: `skipped: ${reason}` }])
    expect(record.counts).toMatchObject({ queued: 0, skipped: 1, total: 1 })
    expect(targets).toMatchObject([{ status: 'skipped', reason, steps: [] }])
  })

  test('that leave nothing to do complete the upgrade at once, before its start too, also when it is changed', async () => {
    const start = Math.floor(Date.now() / 1000) + 3600
    const ended = { status: 'completed', start_time: start, finished_time: expect.any(Number), counts: { skipped: 1 } }
    const { record } = await plan(tunterm('0.9.0', { start_time: start }))
    expect(record).toMatchObject(ended)
    const { id } = await upgrade(world, tunterm('2.0.0', { start_time: start }))
    const body = tunterm('0.9.0', { start_time: start })
    expect((await world.call('PUT', `${pathOf(world)}/${id}`, { body })).body).toMatchObject(ended)
    const { body: refused } = await world.call('PUT', `${pathOf(world)}/${id}`, { body: { strategy: 'serial' } })
    expect(refused.detail).toBe('The upgrade is completed; only the name of one that is not queued can be changed')
    await deleteUpgrade(world, id)
  })

  test('that are only partly possible leave a note', async () => {
    const { record } = await plan({ mxedge_ids: [boxes[0]], versions: { tunterm: 'latest', mxdas: 'latest' } })
    expect(record.notes).toEqual([{ mxedge_id: boxes[0], reason: 'it has no service mxdas' }])
    expect(record.counts.queued).toBe(1)
  })

  test.each([
    [
      { tunterm: '9.9.9' },
      {},
      'versions.tunterm: there is no version 9.9.9 of tunterm; there are 7.0.0, 2.5.0, 2.0.0, 0.9.0',
    ],
    [{ radsecproxy: 'latest' }, {}, 'versions.radsecproxy: the channel stable has no latest version of radsecproxy'],
    [{ mxdas: 'default' }, {}, 'versions.mxdas: the channel stable has no default version of mxdas'],
  ])('%j are refused', async (versions, more, detail) => {
    expect(await reasonOf({ versions, ...more })).toBe(`Invalid field ${detail}`)
  })

  test('have no effect with distro', async () => {
    const { record, targets } = await plan(tunterm('9.9.9', { distro: 'trixie' }))
    expect(record).toMatchObject({ distro: 'trixie', notes: [{ reason: 'versions have no effect with distro' }] })
    expect(targets).toMatchObject([{ steps: [{ distro: true, from_version: 'bookworm', to_version: 'trixie' }] }])
  })
})

describe('an appliance', () => {
  test.each([
    ['has never connected', 'it is not registered', () => addMxedge(world).then(({ id }) => id)],
    [
      'has an agent that can only control services',
      'its agent has no method service.upgrade',
      () => addBox(world, { facts: { methods: ['service.control'] } }),
    ],
  ])('that %s is skipped', async (_title, reason, add) => {
    const id = await add()
    const { record } = await plan({ mxedge_ids: [id], versions: { tunterm: 'latest' } })
    expect(record.notes).toEqual([{ mxedge_id: id, reason: `skipped: ${reason}` }])
    await world.call('DELETE', `/orgs/${world.org.orgId}/mxedges/${id}`)
  })

  test('that does not report its distribution is skipped by an upgrade of it', async () => {
    const id = await addBox(world, { facts: { distro: null } })
    const { record } = await plan({ mxedge_ids: [id], distro: 'next' })
    expect(record.notes).toEqual([{ mxedge_id: id, reason: 'skipped: it does not report its distribution' }])
    await world.call('DELETE', `/orgs/${world.org.orgId}/mxedges/${id}`)
  })

  test('is in at most one upgrade', async () => {
    const first = await upgrade(world, tunterm('latest'))
    const { record } = await plan({ mxedge_ids: [boxes[0], boxes[1]], versions: { tunterm: 'latest' } })
    expect(record.notes).toEqual([{ mxedge_id: boxes[0], reason: `skipped: it is in upgrade ${first.id}` }])
    expect(record.counts).toMatchObject({ queued: 1, skipped: 1 })
    await cancel(first.id)
  })
})

describe('the statistics of an appliance', () => {
  const progress = async () => {
    const { body } = await world.call('GET', `/orgs/${world.org.orgId}/stats/mxedges/${boxes[0]}`)
    return body.fwupdate
  }

  test('show the upgrade that has it, also where a later one skips it', async () => {
    expect(await progress()).toBeUndefined()
    const first = await upgrade(world, tunterm('2.0.0'))
    const shown = await progress()
    expect(shown).toMatchObject({ status: 'scheduled', progress: 0 })
    const second = await upgrade(world, tunterm('2.0.0'))
    expect((await targetsOf(world, second.id)).map(({ status }) => status)).toEqual(['skipped'])
    expect(await progress()).toEqual(shown)
    await cancel(first.id)
    await cancel(second.id)
    expect(await progress()).toBeUndefined()
  })
})

describe('a running upgrade', () => {
  test('protects its packages, and the site that it is of', async () => {
    const image = await uploadPackage(world, '8.0.0', { query: 'package=tunterm' })
    const remove = () => world.call('DELETE', `/orgs/${world.org.orgId}/firmware/${image.id}`)
    const { id } = await upgrade(world, tunterm('8.0.0'))
    expect((await remove()).status).toBe(400)
    await cancel(id)
    expect((await remove()).status).toBe(200)
    const assigned = { site_id: siteId, mxedge_ids: [boxes[0]] }
    expect((await world.call('POST', `/orgs/${world.org.orgId}/mxedges/assign`, { body: assigned })).status).toBe(200)
    const body = { versions: { tunterm: 'latest' } }
    const { body: made } = await world.call('POST', `/sites/${siteId}/mxedges/upgrade`, { body })
    const removeSite = () => world.call('DELETE', `/sites/${siteId}`)
    expect((await removeSite()).body).toMatchObject({ upgrades: 1 })
    await world.ctx.db.updateTable('mxedgeUpgrade').set({ finishedAt: new Date() }).where('id', '=', made.id).execute()
    expect((await removeSite()).status).toBe(200)
    expect((await world.call('GET', pathOf(world))).body).toEqual([])
  })
})
