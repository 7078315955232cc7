import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordMxedgeNodeLost } from '../../../src/mxedges/sessions/record-disconnect.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { addCluster } from '../../support/fleets/mxedges.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { uploadPackage } from './packages.ts'
import {
  addPeer,
  commandsOf,
  connect,
  find,
  pathOf,
  runUpgrades,
  running,
  targetsOf,
  untilStatus,
  untilTarget,
  upgrade,
} from './upgrade-world.ts'
import { type EdgeWorld, eventTypes, hello, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
  await uploadPackage(world, '2.0.0', { query: 'package=tunterm&default=true' })
})
afterAll(() => world.close())

describe('an upgrade whose agent downloads first', () => {
  const staging = { methods: [...hello.methods, 'stage', 'service.upgrade'] }
  const body = (ids: string[]) => ({ mxedge_ids: ids, versions: { tunterm: '2.0.0' } })

  test('shows the downloaded package, and installs it when the other member of the cluster is done', async () => {
    runUpgrades(world)
    const { id: mxcluster_id } = await addCluster(world)
    const peers = [await addPeer(world, { mxcluster_id }, staging), await addPeer(world, { mxcluster_id }, staging)]
    const { id } = await upgrade(world, body(peers.map((peer) => peer.id)))
    const downloads = await Promise.all(peers.map(({ agent }) => agent.nextCall()))
    expect(downloads.map(({ method }) => method)).toEqual(['stage', 'stage'])
    expect(downloads[0]?.params.artifact).toMatchObject({ size: 1000, sha256: expect.any(String) })
    expect(await targetsOf(world, id)).toMatchObject([{ status: 'downloading' }, { status: 'downloading' }])
    peers.forEach(({ agent }, index) => agent.succeed(downloads[index] ?? expect.fail()))
    let targets: AnyJson[] = []
    const state = () => `one is downloaded, and the other one is upgraded: ${JSON.stringify(targets)}`
    const second = await waitUntil(state, async () => {
      targets = await targetsOf(world, id)
      const waiting = targets.find(({ status }) => status === 'downloaded')
      return targets.some(({ status }) => status === 'upgrading') ? (waiting ?? null) : null
    })
    expect(await find(world, id)).toMatchObject({ counts: { upgrading: 2, queued: 0, total: 2 } })
    const stats = await world.call('GET', `/orgs/${world.org.orgId}/stats/mxedges/${second.mxedge_id}`)
    expect(stats.body.fwupdate).toMatchObject({ status: 'inprogress', progress: 70, will_retry: false })
    for (const { agent } of peers.toSorted(
      (a, b) => Number(a.id === second.mxedge_id) - Number(b.id === second.mxedge_id),
    )) {
      const call = await agent.nextCall()
      expect(call.method).toBe('service.upgrade')
      agent.notify('report', running('2.0.0'))
      agent.succeed(call)
    }
    await untilStatus(world, id, 'completed')
    expect((await eventTypes(world, second.mxedge_id)).slice(-2)).toEqual([
      'ME_PACKAGE_DOWNLOADED',
      'ME_PACKAGE_UPDATED',
    ])
  })

  test('downloads what an upgrade of its distribution needs, and upgrades when its turn has come', async () => {
    runUpgrades(world)
    const capable = { methods: [...hello.methods, 'distro.stage', 'distro.upgrade'] }
    const { id: box, agent } = await addPeer(world, {}, capable)
    const { id } = await upgrade(world, { mxedge_ids: [box], distro: 'trixie' })
    const call = await agent.nextCall()
    expect(call).toMatchObject({ method: 'distro.stage', params: { codename: 'trixie', from: 'bookworm' } })
    agent.notify('progress', { command_id: call.params.command_id, step: 'download', percent: null })
    await world.call('POST', `${pathOf(world)}/${id}/pause`)
    agent.succeed(call)
    await untilTarget(world, id, box, 'downloaded')
    await world.call('POST', `${pathOf(world)}/${id}/resume`)
    const next = await agent.nextCall()
    expect(next).toMatchObject({ method: 'distro.upgrade', params: { codename: 'trixie', from: 'bookworm' } })
    agent.notify('report', { ...running('1.0.0'), distro: 'trixie' })
    agent.succeed(next)
    await untilStatus(world, id, 'completed')
  })

  test('is cancelled while it has downloaded, and nothing is installed', async () => {
    runUpgrades(world)
    const { id: box, agent } = await addPeer(world, {}, staging)
    const { id } = await upgrade(world, body([box]))
    const call = await agent.nextCall()
    await world.call('POST', `${pathOf(world)}/${id}/pause`)
    agent.succeed(call)
    await untilTarget(world, id, box, 'downloaded')
    await world.call('POST', `${pathOf(world)}/${id}/cancel`)
    await untilStatus(world, id, 'cancelled')
    expect(await targetsOf(world, id)).toMatchObject([{ status: 'cancelled', steps: [{ done: false }] }])
    expect((await commandsOf(world, box)).map(({ kind }) => kind)).toEqual(['stage_package'])
  })

  test('downloads again at once if the download failed while the service was down', async () => {
    runUpgrades(world, { maxAttempts: 1 })
    const { id: box, agent, credentials } = await addPeer(world, {}, staging)
    const { id } = await upgrade(world, body([box]))
    const call = await agent.nextCall()
    // Its next connection replaces this one, which would otherwise count as broken by the appliance.
    const session = world.ctx.db.selectFrom('mxedgeSession').select('nodeId').where('mxedgeId', '=', box)
    await recordMxedgeNodeLost(world.ctx, (await session.executeTakeFirstOrThrow()).nodeId)
    const later = await connect(world, credentials, { ...staging, commands: [call.params.command_id] })
    later.fail(call, 2, 'The server cannot be reached')
    expect(await later.nextCall()).toMatchObject({ method: 'stage' })
    expect(await targetsOf(world, id)).toMatchObject([{ status: 'downloading' }])
  })

  test('keeps its firmware when the download fails, and reports the failure', async () => {
    runUpgrades(world, { maxAttempts: 1 })
    const { id: box, agent } = await addPeer(world, {}, staging)
    const { id } = await upgrade(world, body([box]))
    agent.fail(await agent.nextCall(), 2, 'The server answered 404')
    await untilStatus(world, id, 'failed')
    expect(await targetsOf(world, id)).toMatchObject([{ status: 'failed', reason: 'The server answered 404' }])
    expect((await eventTypes(world, box)).filter((type) => type === 'ME_PACKAGE_UPDATE_FAILED')).toHaveLength(1)
  })
})
