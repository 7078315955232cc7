// Upgrades of SSR routers with the real interface, engine, gateway, downloads and agent.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Poller } from '../../../src/platform/time/poller.ts'
import { defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { startRollouts } from '../../../src/rollout/worker.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { runSignalbox } from '../../command-line/run-signalbox.ts'
import { connectRouter, statsOf } from '../routers.ts'
import { type RouterPlace, dryRunOf, startRouter, uploadImage } from '../start-router.ts'
import { type AgentCall, type AgentPeer, type EdgeWorld, startEdgeWorld } from '../world.ts'

let world: EdgeWorld
let engine: Poller
let bytes: number
beforeAll(async () => {
  world = await startEdgeWorld()
  engine = startRollouts(world.ctx, { ...defaultRolloutOptions, soakMs: 0, retryMs: 5 })
  bytes = await uploadImage(world, '6.2.0')
})
afterAll(async () => {
  await engine.stop()
  await world.close()
})

const path = () => `/orgs/${world.org.orgId}/ssr/upgrade`
const nowS = () => Math.floor(world.ctx.clock.now().getTime() / 1000)

async function upgrade(routers: readonly Pick<RouterPlace, 'deviceId'>[], body: object = {}): Promise<string> {
  const device_ids = routers.map(({ deviceId }) => deviceId)
  const answer = await world.call('POST', path(), { body: { device_ids, ...body } })
  expect([answer.status, answer.body]).toEqual([200, expect.anything()])
  return answer.body.id
}

const show = async (id: string): Promise<AnyJson> => (await world.call('GET', `${path()}/${id}`)).body

/** The engine polls at intervals of its own time. */
function until(id: string, status: string): Promise<AnyJson> {
  return waitUntil(`the upgrade is ${status}`, async () => {
    world.advance(1000)
    engine.wake()
    const record = await show(id)
    return record.status === status ? record : null
  })
}

async function kindsOf({ deviceId }: Pick<RouterPlace, 'deviceId'>): Promise<string[]> {
  const commands = world.ctx.db.selectFrom('deviceCommand').select('kind').where('deviceId', '=', deviceId)
  return (await commands.orderBy('id').execute()).map(({ kind }) => kind)
}

/** Advances the time until the gateway calls. */
function nextCall(agent: AgentPeer): Promise<AgentCall> {
  let call: AgentCall | null = null
  void agent.nextCall().then((next) => (call = next))
  return waitUntil('a call', () => {
    world.advance(1000)
    engine.wake()
    return call
  })
}

describe('an upgrade of a router', () => {
  test('downloads, installs and reboots, and the router reports the version', async () => {
    const router = await startRouter(world)
    const before = await dryRunOf(router)
    const id = await upgrade([router])
    const record = await until(id, 'completed')
    expect(record.targets).toMatchObject({ success: [router.mac], failed: [] })
    const after = await dryRunOf(router)
    expect(after).toMatchObject({ version: '6.2.0', done: [`install 6.2.0 of ${bytes} bytes`, 'reboot'] })
    expect(after.boot_id).not.toBe(before.boot_id)
    expect(await statsOf(world, router)).toMatchObject({ version: '6.2.0', status: 'connected' })
    expect(await kindsOf(router)).toEqual(['stage', 'activate'])
    const target = await world.call('GET', `${path()}/${id}/targets/${router.mac}`)
    const told: string[] = target.body.timeline.map(({ what }: AnyJson) => what)
    // The engine may see the download, or the reboot, only when it is over.
    const seen = ['scheduled', 'download_requested', 'downloaded', 'reboot_in_progress', 'upgraded']
    expect([...new Set(told)].filter((what) => seen.includes(what))).toEqual(seen)
    expect(told).toEqual(
      expect.arrayContaining(['stage done', 'activate done', 'GW_DISCONNECTED', 'GW_RESTARTED', 'GW_UPGRADED']),
    )
    const { body: report } = await world.call('GET', `${path()}/${id}/report`)
    expect(report).toMatchObject({ phases: [{ opened_at: expect.any(Number), ended_at: report.ended_at }] })
  })

  test('downloads at start_time and reboots at reboot_at', async () => {
    const { agent, ...router } = await connectRouter(world)
    const [start, reboot] = [nowS() + 60, nowS() + 120]
    const id = await upgrade([router], { start_time: start, reboot_at: reboot })
    expect((await show(id)).status).toBe('queued')
    expect(await kindsOf(router)).toEqual([])
    world.advance(61_000)
    engine.wake()
    const staged = await agent.nextCall()
    expect(nowS()).toBeGreaterThanOrEqual(start)
    expect(staged).toMatchObject({
      method: 'stage',
      params: { version: '6.2.0', artifact: { size: bytes, uri: expect.stringContaining('/firmware/') } },
    })
    const { uri, sha256 } = staged.params.artifact
    await (await fetch(uri)).arrayBuffer()
    agent.succeed(staged)
    await waitUntil('downloaded', async () => (await show(id)).status === 'downloaded')
    expect(nowS()).toBeLessThan(reboot)
    expect((await show(id)).targets.upgrading).toEqual([router.mac])
    world.advance(61_000)
    engine.wake()
    const activated = await agent.nextCall()
    expect(nowS()).toBeGreaterThanOrEqual(reboot)
    expect(activated).toMatchObject({ method: 'activate', params: { version: '6.2.0', sha256 } })
  })

  test('only downloads while reboot_at is -1, and only reboots while start_time is -1', async () => {
    const router = await startRouter(world)
    const first = await upgrade([router], { reboot_at: -1 })
    const record = await until(first, 'downloaded')
    expect(record.targets).toMatchObject({ success: [router.mac], upgrading: [] })
    const watched = await runSignalbox({ url: world.url, token: world.org.token }, ['upgrade', 'watch', first])
    expect(watched).toMatchObject({ code: 0, out: '1 of 1 upgraded\n', err: expect.stringContaining('100 %') })
    expect((await dryRunOf(router)).done).toEqual([])
    expect(await statsOf(world, router)).toMatchObject({ version: '6.1.0' })
    const second = await upgrade([router], { start_time: -1 })
    await until(second, 'completed')
    expect((await dryRunOf(router)).done).toEqual([`install 6.2.0 of ${bytes} bytes`, 'reboot'])
    expect(await kindsOf(router)).toEqual(['stage', 'activate'])
  })

  test('fails where the router refuses, with its own words', async () => {
    const { agent, ...router } = await connectRouter(world)
    const id = await upgrade([router])
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const call = await nextCall(agent)
      agent.fail(call, 2, 'the disk is full')
    }
    const record = await until(id, 'failed')
    expect(record.targets.failed).toEqual([router.mac])
    expect(record.notes).toEqual([{ mac: router.mac, reason: expect.stringContaining('the disk is full') }])
  })
})

test('a restart of a router, and of one of its nodes, reboots it once', async () => {
  const router = await startRouter(world, { nodes: ['node0', 'node1'] })
  const restart = (body: object) =>
    world.call('POST', `/sites/${router.siteId}/devices/${router.deviceId}/restart`, { body })
  const before = await dryRunOf(router)
  expect((await restart({ node: 'node1' })).status).toBe(200)
  await waitUntil('node1 reboots', async () => (await dryRunOf(router)).done.length === 1)
  expect(await dryRunOf(router)).toMatchObject({ boot_id: before.boot_id, done: ['reboot node1'] })
  await waitUntil('done', async () => (await restart({})).status === 200)
  await waitUntil('the event', async () => {
    const { body } = await world.call('GET', `/sites/${router.siteId}/devices/events/search?mac=${router.mac}`)
    return body.results.some(({ type }: { type: string }) => type === 'GW_RESTARTED')
  })
  expect((await dryRunOf(router)).done).toEqual(['reboot node1', 'reboot'])
})
