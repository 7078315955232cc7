import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { addCluster } from '../../support/fleets/mxedges.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { uploadPackage } from './packages.ts'
import { doneBy } from '../start-agent.ts'
import {
  addPeer,
  commandsOf,
  connect,
  find,
  pathOf,
  runUpgrades,
  running,
  startBox,
  targetsOf,
  untilStatus,
  untilTarget,
  upgrade,
} from './upgrade-world.ts'
import { type EdgeWorld, eventTypes, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
beforeAll(async () => {
  world = await startEdgeWorld()
  await uploadPackage(world, '2.0.0', { query: 'package=tunterm&default=true' })
  await uploadPackage(world, '3.0.0', { query: 'package=mxagent' })
})
afterAll(() => world.close())

const fwUpdateOf = async (id: string): Promise<AnyJson> =>
  (await world.call('GET', `/orgs/${world.org.orgId}/stats/mxedges/${id}`)).body.fwupdate

describe('an upgrade of real agents', () => {
  test('installs every service in the order of the plan, members of a cluster one after the other', async () => {
    runUpgrades(world)
    const { id: mxcluster_id } = await addCluster(world)
    const boxes = [
      await startBox(world, { mxcluster_id }),
      await startBox(world, { mxcluster_id }),
      await startBox(world),
    ]
    const mxedge_ids = boxes.map(({ id }) => id)
    const { id } = await upgrade(world, {
      mxedge_ids,
      strategy: 'canary',
      canary_phases: [1, 100],
      versions: { mxagent: 'latest', tunterm: 'default' },
    })
    const ended = await untilStatus(world, id, 'completed')
    expect(ended).toMatchObject({ counts: { success: 3, failed: 0, total: 3 }, phase_sizes: [1, 2], phase: 2 })
    for (const box of boxes)
      expect(await doneBy(box.folder)).toEqual([
        'configure',
        'install mxagent 3.0.0 of 1000 bytes',
        'install tunterm 2.0.0 of 1000 bytes',
      ])
    for (const box of boxes) {
      const shown = await fwUpdateOf(box.id)
      expect(shown).toMatchObject({ status: 'success', progress: 100, will_retry: false })
    }
    for (const target of await targetsOf(world, id))
      expect(target).toMatchObject({ status: 'success', attempts: 4, steps: [{ done: true }, { done: true }] })
    for (const box of boxes)
      expect((await commandsOf(world, box.id)).map(({ kind }) => kind).toReversed()).toEqual([
        'stage_package',
        'stage_package',
        'upgrade_service',
        'upgrade_service',
      ])
    const times = await Promise.all(
      boxes.slice(0, 2).map(async (box) => {
        const all = (await commandsOf(world, box.id)).filter(({ kind }) => kind === 'upgrade_service')
        return {
          from: Math.min(...all.map((each) => each.created_time)),
          to: Math.max(...all.map((each) => each.finished_time)),
        }
      }),
    )
    const [first, second] = times.toSorted((a, b) => a.from - b.from)
    expect(second?.from).toBeGreaterThanOrEqual(first?.to ?? Infinity)
    const types = await eventTypes(world, boxes[0]?.id ?? '')
    expect(types.filter((type) => type === 'ME_PACKAGE_UPDATE_BY_USER')).toHaveLength(2)
    expect(types.filter((type) => type === 'ME_PACKAGE_UPDATED')).toHaveLength(2)
  })

  test('stops where one of them fails, and does not change the others', async () => {
    runUpgrades(world, { maxAttempts: 1 })
    const broken = await startBox(world, {}, { install: 'bad_package' })
    const spare = [await startBox(world), await startBox(world)]
    const first = await upgrade(world, { mxedge_ids: [broken.id], versions: { tunterm: '2.0.0' } })
    expect(await untilStatus(world, first.id, 'failed')).toMatchObject({ counts: { failed: 1 } })
    const before = await fwUpdateOf(broken.id)
    expect(before).toMatchObject({ status: 'failed', will_retry: false, status_id: expect.any(Number) })
    const { id } = await upgrade(world, {
      mxedge_ids: [broken.id, ...spare.map((box) => box.id)],
      strategy: 'serial',
      max_failure_percentage: 0,
      versions: { tunterm: '2.0.0' },
    })
    const ended = await untilStatus(world, id, 'failed')
    expect((await fwUpdateOf(broken.id)).status_id).toBeGreaterThan(before.status_id)
    expect(ended.stop_reason).toBe('more than 0 % of 3 edge appliances failed')
    expect(ended.counts).toMatchObject({ failed: 1, queued: 0, upgrading: 0 })
    const failed = (await targetsOf(world, id)).find(({ status }) => status === 'failed')
    expect(failed).toMatchObject({ mxedge_id: broken.id, reason: 'The package of tunterm 2.0.0 is damaged' })
    const types = await eventTypes(world, broken.id)
    expect(types.filter((type) => type === 'ME_PACKAGE_UPDATE_FAILED')).toHaveLength(2)
  })

  test('upgrades the distribution', async () => {
    runUpgrades(world)
    const box = await startBox(world)
    const { id } = await upgrade(world, { mxedge_ids: [box.id], distro: 'next' })
    await untilStatus(world, id, 'completed')
    expect(await doneBy(box.folder)).toEqual(['configure', 'download trixie', 'upgrade to trixie'])
    expect((await commandsOf(world, box.id)).map(({ kind }) => kind).toReversed()).toEqual([
      'stage_distro',
      'upgrade_distro',
    ])
    expect((await eventTypes(world, box.id)).filter((type) => type.startsWith('ME_DISTRO'))).toEqual([
      'ME_DISTRO_UPGRADE_BY_USER',
      'ME_DISTRO_DOWNLOADED',
      'ME_DISTRO_UPGRADED',
    ])
    const again = await upgrade(world, { mxedge_ids: [box.id], distro: 'trixie' })
    expect(again.notes).toEqual([{ mxedge_id: box.id, reason: 'skipped: it runs the distribution trixie already' }])
    expect(await untilStatus(world, again.id, 'completed')).toMatchObject({ counts: { skipped: 1, total: 1 } })
  })
})

describe('an upgrade whose agent', () => {
  const body = (id: string) => ({ mxedge_ids: [id], versions: { tunterm: '2.0.0' } })

  test('loses its connection with the command is settled by its report, without a second command', async () => {
    runUpgrades(world)
    const { id: box, agent, credentials } = await addPeer(world)
    const { id } = await upgrade(world, body(box))
    await agent.nextCall()
    agent.socket.terminate()
    await waitUntil(
      'the outcome is unknown',
      async () => (await commandsOf(world, box))[0]?.status === 'unknown' || null,
    )
    await connect(world, credentials, { report: running('2.0.0') })
    await untilStatus(world, id, 'completed')
    expect(await commandsOf(world, box)).toHaveLength(1)
  })

  test('answers after it is back is settled by its answer', async () => {
    runUpgrades(world)
    const { id: box, agent, credentials } = await addPeer(world)
    const { id } = await upgrade(world, body(box))
    const call = await agent.nextCall()
    agent.socket.terminate()
    const later = await connect(world, credentials)
    later.notify('report', running('2.0.0'))
    later.succeed(call)
    await untilStatus(world, id, 'completed')
    expect(await commandsOf(world, box)).toHaveLength(1)
  })

  test.each([
    [
      'silent gets the command again after a while',
      { answerMs: { download: 0, distroDownload: 0, service: 0, distro: 0 } },
      {},
    ],
    ['without the command gets it again at once', {}, { commands: [] }],
  ])('comes back unchanged and %s', async (_title, changes, said) => {
    runUpgrades(world, { ...changes, retryMs: 0 })
    const { id: box, agent, credentials } = await addPeer(world)
    const { id } = await upgrade(world, body(box))
    await agent.nextCall()
    agent.socket.terminate()
    const later = await connect(world, credentials, said)
    const call = await later.nextCall()
    later.notify('report', running('2.0.0'))
    later.succeed(call)
    await untilStatus(world, id, 'completed')
    expect(await commandsOf(world, box)).toHaveLength(2)
  })

  test('gets the command to upgrade once although the service restarts', async () => {
    const first = runUpgrades(world)
    const { id: box, agent } = await addPeer(world)
    const { id } = await upgrade(world, body(box))
    const call = await agent.nextCall()
    await first.stop()
    runUpgrades(world)
    agent.notify('report', running('2.0.0'))
    agent.succeed(call)
    await untilStatus(world, id, 'completed')
    expect(await commandsOf(world, box)).toHaveLength(1)
  })

  test('acknowledges but reports the old version has failed', async () => {
    runUpgrades(world, { verifyTimeoutMs: 0 })
    const { id: box, agent } = await addPeer(world)
    const { id } = await upgrade(world, body(box))
    agent.succeed(await agent.nextCall())
    await untilStatus(world, id, 'failed')
    expect(await targetsOf(world, id)).toMatchObject([{ status: 'failed', reason: 'not_applied' }])
    expect((await eventTypes(world, box)).at(-1)).toBe('ME_PACKAGE_UPDATE_FAILED')
  })

  test('is absent is waited for, and upgraded when it is back', async () => {
    runUpgrades(world)
    const { id: box, agent, credentials } = await addPeer(world)
    agent.socket.terminate()
    await waitUntil('it is absent', async () => (await eventTypes(world, box)).includes('ME_DISCONNECTED') || null)
    const { id } = await upgrade(world, body(box))
    expect(await untilStatus(world, id, 'upgrading')).toMatchObject({ offline: 1, counts: { queued: 1 } })
    expect(await targetsOf(world, id)).toMatchObject([{ status: 'queued', reason: 'offline' }])
    const overview = await world.call('GET', `/orgs/${world.org.orgId}/upgrades/${id}`)
    expect(overview.body).toMatchObject({ offline: 1, counts: { queued: 1 } })
    expect(await commandsOf(world, box)).toEqual([])
    // It is no longer offline when it is back, also while the upgrade is paused.
    await world.call('POST', `${pathOf(world)}/${id}/pause`)
    const later = await connect(world, credentials)
    await waitUntil('it is not offline', async () => (await find(world, id)).offline === undefined || null)
    const [target] = await targetsOf(world, id)
    expect(target).toMatchObject({ status: 'queued' })
    expect(target).not.toHaveProperty('reason')
    await world.call('POST', `${pathOf(world)}/${id}/resume`)
    const call = await later.nextCall()
    later.notify('report', running('2.0.0'))
    later.succeed(call)
    await untilStatus(world, id, 'completed')
  })

  test.each([
    ['is replaced', 'replaced', (box: string) => ['POST', `/${box}/restart`] as const],
    ['is deleted', 'removed', (box: string) => ['DELETE', `/${box}`] as const],
  ])('%s during it is cancelled', async (_title, reason, change) => {
    runUpgrades(world)
    const { id: box, agent } = await addPeer(world)
    const { id } = await upgrade(world, body(box))
    await agent.nextCall()
    const [method, path] = change(box)
    expect((await world.call(method, `/orgs/${world.org.orgId}/mxedges${path}`)).status).toBe(200)
    await untilTarget(world, id, box, 'cancelled')
    expect(await targetsOf(world, id)).toMatchObject([{ reason }])
    expect(await untilStatus(world, id, 'cancelled')).toMatchObject({ counts: { cancelled: 1 } })
  })

  test('leaves the site whose upgrade it is gets no further command', async () => {
    runUpgrades(world)
    const { id: box, agent } = await addPeer(world)
    const site = { name: 'Upgrades', timezone: 'UTC' }
    const { id: siteId } = (await world.call('POST', `/orgs/${world.org.orgId}/sites`, { body: site })).body
    const mxedges = `/orgs/${world.org.orgId}/mxedges`
    await world.call('POST', `${mxedges}/assign`, { body: { mxedge_ids: [box], site_id: siteId } })
    const made = await world.call('POST', `/sites/${siteId}/mxedges/upgrade`, {
      body: { mxedge_ids: [box], versions: { mxagent: '3.0.0', tunterm: '2.0.0' } },
    })
    const call = await agent.nextCall()
    expect((await world.call('POST', `${mxedges}/unassign`, { body: { mxedge_ids: [box] } })).status).toBe(200)
    agent.notify('report', { ...running('1.0.0'), services: [{ name: 'mxagent', version: '3.0.0', state: 'running' }] })
    agent.succeed(call)
    expect(await untilTarget(world, made.body.id, box, 'cancelled')).toMatchObject({
      steps: [{ done: true }, { done: false }],
    })
    expect(await commandsOf(world, box)).toHaveLength(1)
  })
})

describe('a person', () => {
  test('cancels: the appliance in flight ends, and no other is commanded', async () => {
    runUpgrades(world)
    const peers = [await addPeer(world), await addPeer(world)]
    const { id } = await upgrade(world, {
      mxedge_ids: peers.map((peer) => peer.id),
      strategy: 'serial',
      versions: { tunterm: '2.0.0' },
    })
    const busy = await waitUntil('one is commanded', async () => {
      const first = (await targetsOf(world, id)).find(({ status }) => status === 'upgrading')
      return peers.find((peer) => peer.id === first?.mxedge_id) ?? null
    })
    const call = await busy.agent.nextCall()
    expect(await world.call('POST', `${pathOf(world)}/${id}/cancel`)).toMatchObject({ status: 200, body: {} })
    busy.agent.notify('report', running('2.0.0'))
    busy.agent.succeed(call)
    const ended = await untilStatus(world, id, 'cancelled')
    expect(ended.counts).toMatchObject({ success: 1, cancelled: 1, total: 2 })
    expect(ended.stop_reason).toContain('cancelled by')
    const other = peers.find((peer) => peer !== busy)
    expect(await commandsOf(world, other?.id ?? '')).toEqual([])
  })

  test('pauses: nothing is commanded until it is resumed', async () => {
    const first = runUpgrades(world)
    const { id: box, agent } = await addPeer(world)
    await first.stop()
    const { id } = await upgrade(world, { mxedge_ids: [box], versions: { tunterm: '2.0.0' } })
    await world.call('POST', `${pathOf(world)}/${id}/pause`)
    runUpgrades(world)
    await untilStatus(world, id, 'upgrading')
    expect(await find(world, id)).toMatchObject({ held: { by: 'user' }, counts: { queued: 1 }, phase_times: [] })
    expect(await commandsOf(world, box)).toEqual([])
    await world.call('POST', `${pathOf(world)}/${id}/resume`)
    const call = await agent.nextCall()
    expect((await find(world, id)).phase_times).toEqual([{ phase: 1, begun_time: expect.any(Number) }])
    agent.notify('report', running('2.0.0'))
    agent.succeed(call)
    const ended = await untilStatus(world, id, 'completed')
    expect(ended).not.toHaveProperty('held')
    const [times] = ended.phase_times
    expect(times).toEqual({ phase: 1, begun_time: expect.any(Number), ended_time: expect.any(Number) })
    expect(times.ended_time).toBeGreaterThanOrEqual(times.begun_time)
  })

  test('pauses at a gate, which a resume does not pass', async () => {
    const worker = runUpgrades(world)
    const { id: box } = await addPeer(world)
    await worker.stop()
    const { id } = await upgrade(world, { mxedge_ids: [box], versions: { tunterm: '2.0.0' } })
    const { db } = world.ctx
    const hold = JSON.stringify({ by: 'gate', reason: '0 of 1 appliances were upgraded', since_s: 1, since_ms: 1 })
    await db.updateTable('mxedgeUpgrade').set({ hold, currentPhase: 1 }).where('id', '=', id).execute()
    for (let times = 0; times < 2; times += 1) await world.call('POST', `${pathOf(world)}/${id}/pause`)
    const reason = expect.stringMatching(/^paused by .* \(before: 0 of 1 appliances were upgraded\)$/)
    expect(await find(world, id)).toMatchObject({ held: { by: 'user', reason } })
    await world.call('POST', `${pathOf(world)}/${id}/resume`)
    const upgraded = db.selectFrom('mxedgeUpgrade').select(['gatePassed', 'hold']).where('id', '=', id)
    expect(await upgraded.executeTakeFirstOrThrow()).toEqual({ gatePassed: 0, hold: null })
  })
})
