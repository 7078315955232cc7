import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweepFirmwareFiles } from '../../../../src/firmware/storage/storage.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import { addBox, deleteUpgrade, pathOf, planUpgrade, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import { addCluster } from '../../../support/fleets/mxedges.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'

// Without a worker upgrades stay queued.
let world: TestServer
/** Appliances with tunterm 1.0.0. */
let boxes: string[]
beforeAll(async () => {
  world = await startTestServer()
  await sweepFirmwareFiles(world.ctx, { dir: join(world.dataDir, 'firmware') })
  await uploadPackage(world, '2.0.0', { query: 'package=tunterm' })
  boxes = []
  for (let index = 0; index < 7; index += 1) boxes.push(await addBox(world))
})
afterAll(() => world.close())

describe('the strategy', () => {
  const all = (more: object) => planUpgrade(world, { mxedge_ids: boxes, versions: { tunterm: 'latest' }, ...more })
  test.each([
    ['canary', {}, [1, 0, 3, 3]],
    ['canary', { canary_phases: [50] }, [4, 3]],
    ['serial', {}, [1, 1, 1, 1, 1, 1, 1]],
    ['big_bang', {}, [7]],
  ])('%s with %j has phases of %j', async (strategy, more, sizes) => {
    expect((await all({ strategy, ...more })).record.phase_sizes).toEqual(sizes)
  })

  test('keeps members of a cluster in waves of their own, under big_bang too', async () => {
    const { id: mxcluster_id } = await addCluster(world)
    const members = [await addBox(world, { body: { mxcluster_id } }), await addBox(world, { body: { mxcluster_id } })]
    const record = await upgrade(world, { mxedge_ids: [boxes[0], ...members], versions: { tunterm: 'latest' } })
    const rows = await world.ctx.db
      .selectFrom('mxedgeUpgradeTarget')
      .select(['mxedgeId', 'wave'])
      .where('upgradeId', '=', record.id)
      .orderBy('ordinal')
      .execute()
    expect(rows.map(({ wave }) => wave)).toEqual([1, 1, 2])
    expect(members).toContain(rows[2]?.mxedgeId)
    await deleteUpgrade(world, record.id)
    for (const id of members) await world.call('DELETE', `/orgs/${world.org.orgId}/mxedges/${id}`)
  })

  test.each([
    [{ strategy: 'rrm' }, 'strategy'],
    [{ strategy: 'canary', canary_phases: [10, 10] }, 'canary_phases'],
    [{ strategy: 'canary', canary_phases: [0, 100] }, 'canary_phases.0'],
    [{ strategy: 'canary', max_failures: [1] }, 'max_failures'],
    [{ max_failures: [1] }, 'max_failures'],
    [{ max_failure_percentage: 101 }, 'max_failure_percentage'],
    [{ max_failure_percentage: -1 }, 'max_failure_percentage'],
    [{ channel: 'nightly' }, 'channel'],
    [{ versions: { nothing: 'latest' } }, 'versions.nothing'],
    [{ versions: { tunterm: '-rf' } }, 'versions.tunterm'],
    [{ versions: { tunterm: 7 } }, 'versions.tunterm'],
    [{ allow_downgrades: { nothing: true } }, 'allow_downgrades.nothing'],
    [{ allow_downgrades: { tunterm: 'yes' } }, 'allow_downgrades.tunterm'],
    [{ distro: 'No Codename' }, 'distro'],
    [{ mxedge_ids: ['x'] }, 'mxedge_ids.0'],
    [{ start_time: 1_000_000 }, 'start_time'],
    [{ start_time: 'now' }, 'start_time'],
  ])('or any other field that makes no sense is refused by its name: %j', async (body, field) => {
    const answer = await world.call('POST', pathOf(world), { body })
    expect(answer.status).toBe(400)
    expect(answer.body.detail).toMatch(new RegExp(`^Invalid field ${field.replaceAll('.', String.raw`\.`)}: `))
  })

  test('leaves a note of what has no effect with it', async () => {
    const { record } = await all({ canary_phases: [100], max_failure_percentage: 20 })
    expect(record.notes.map(({ reason }: { readonly reason: string }) => reason)).toEqual([
      'canary_phases have no effect with the strategy big_bang',
      'max_failure_percentage has no effect with the strategy big_bang',
    ])
  })
})

describe('canary phases', () => {
  let fleet: TestOrg
  let size = 0
  beforeAll(async () => {
    fleet = await world.addOrg('Fleet')
  })

  test.each([
    [50, [1, 4, 20, 25]],
    [51, [1, 5, 20, 25]],
    [100, [1, 9, 40, 50]],
    [101, [2, 9, 40, 50]],
  ])('of %i appliances are %j', async (count, sizes) => {
    await Promise.all(Array.from({ length: count - size }, () => addBox(world, { org: fleet })))
    size = count
    const body = { strategy: 'canary', distro: 'trixie' }
    const answer = await world.call('POST', `/orgs/${fleet.orgId}/mxedges/upgrade`, { as: fleet, body })
    await deleteUpgrade(world, answer.body.id)
    expect(answer.body).toMatchObject({ counts: { total: count }, phase_sizes: sizes })
  })
})
