// Pauses, retries and exclusions of upgrades of SSR routers.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { addPrivilege } from '../../support/people.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type Fleet, type SeededDevice, type SeededOrg } from '../../support/fleets/fleet.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { addFleet, playAll } from './served-fleet.ts'
import { routerCapabilities } from './ssr-world.ts'

let clock: TestClock
let server: TestServer
let admin: TestOrg
let org: SeededOrg
let fleet: Fleet
let routers: readonly [SeededDevice, SeededDevice]
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
})
afterAll(() => server.close())
beforeEach(async () => {
  const seed = { devices: 2, model: 'SSR120', type: 'gateway', capabilities: routerCapabilities } as const
  ;({ admin, org, fleet } = await addFleet(server, [seed]))
  const [first, second] = org.sites[0]?.devices ?? []
  if (first === undefined || second === undefined) throw new Error('no routers')
  routers = [first, second]
  await fleet.connect(routers)
})

const path = () => `/orgs/${admin.orgId}/ssr/upgrade`
const get = async (of: string): Promise<AnyJson> => (await server.call('GET', of, { as: admin })).body
const detail = (id: string) => get(`${path()}/${id}`)
const change = (id: string, name: string, body: unknown = {}): Promise<Answer> =>
  server.call('POST', `${path()}/${id}/${name}`, { body, as: admin })

async function upgrade(body: object = {}): Promise<string> {
  const sent = { device_ids: routers.map(({ id }) => id), version: '2.0.0', ...body }
  const answer = await server.call('POST', path(), { body: sent, as: admin })
  expect([answer.status, answer.body]).toMatchObject([200, { id: expect.any(String) }])
  return answer.body.id
}

/** Runs the engine until no router gets a further command. Every router downloads what it is commanded to. */
const play = (reboot: (router: SeededDevice) => 'upgrades' | 'keeps_old' = () => 'upgrades'): Promise<void> =>
  playAll({ server, fleet, clock }, reboot)

const reboots = () => routers.map(({ id }) => fleet.flashes.get(id) ?? 0)

it('a paused upgrade commands no router, says why, and continues once it is resumed', async () => {
  const id = await upgrade({ strategy: 'serial' })
  expect(await change(id, 'pause')).toMatchObject({ status: 200, body: {} })
  await play()
  expect(fleet.attempts.size).toBe(0)
  const held = { by: 'user', reason: expect.stringMatching(/^paused by ./), timestamp: expect.any(Number) }
  const paused = await detail(id)
  expect(paused).toMatchObject({ status: 'queued', held, upgrades: [{ upgrade: { status: 'queued', held } }] })
  expect(paused.notes).toEqual([{ reason: `held: ${paused.held.reason}` }])
  expect(await get(path())).toMatchObject([{ id, status: 'queued', held }])
  expect(await get(`/orgs/${admin.orgId}/upgrades?held=true`)).toMatchObject([{ id, kind: 'ssr', held }])
  expect((await change(id, 'resume')).status).toBe(200)
  await play()
  const ended = await detail(id)
  expect(ended).toMatchObject({ status: 'completed', notes: [] })
  expect(ended).not.toHaveProperty('held')
  expect(reboots()).toEqual([1, 1])
  const { decisions } = await get(`${path()}/${id}/report`)
  const types = decisions.map(({ type }: AnyJson) => type)
  expect(types).toEqual(['UPGRADE_CREATED', 'UPGRADE_PAUSED', 'UPGRADE_RESUMED'])
})

it('begins only after the approval that it asks for, and shows who gave it', async () => {
  const gated = { phase_gates: [{ phase: 0, wait_for: 'approval', prevent_self_approval: true }] }
  const ids = routers.map((router) => router.id)
  const preview = { name: 'Branches', device_ids: ids, version: '2.0.0', ...gated, dry_run: true }
  const { body: plan } = await server.call('POST', path(), { body: preview, as: admin })
  const reason = 'its start waits for an approval by a person who has not created the upgrade'
  expect(plan.notes).toEqual([{ reason: `The upgrade does not begin at once: ${reason}` }])
  const id = await upgrade({ plan_id: plan.plan_id, ...gated })
  const held = { by: 'approval', reason, phase: 0 }
  const shown = { name: 'Branches', status: 'queued', held }
  expect(await detail(id)).toMatchObject({ ...shown, notes: [{ reason: `held: ${reason}` }] })
  expect(await get(path())).toMatchObject([shown])
  await play()
  expect(fleet.attempts.size).toBe(0)
  const approval = { phase: 0, note: 'agreed' }
  expect(await change(id, 'approve', approval)).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('the person who created the upgrade') },
  })
  const another = await server.addOrg()
  await addPrivilege(server, { orgId: admin.orgId, adminId: another.adminId }, { scope: 'org', role: 'admin' })
  const given = await server.call('POST', `${path()}/${id}/approve`, { body: approval, as: another })
  expect(given).toMatchObject({ status: 200, body: {} })
  expect((await detail(id)).approvals).toMatchObject([{ ...approval, by: 'approval', admin_id: another.adminId }])
  await play()
  expect(await detail(id)).toMatchObject({ status: 'completed', notes: [] })
  expect((await get(`${path()}/${id}/report`)).start_gate).toMatchObject({
    passed: true,
    opened_by: { note: 'agreed' },
  })
})

it('a router that failed is retried, and only this one reboots once more', async () => {
  const id = await upgrade()
  const [bad, good] = routers
  await play((router) => (router === bad ? 'keeps_old' : 'upgrades'))
  expect((await detail(id)).targets).toMatchObject({ success: [good.mac], failed: [bad.mac] })
  const before = reboots()
  expect(await change(id, 'retry', { macs: [good.mac] })).toMatchObject({
    status: 400,
    body: { detail: `Invalid field macs.0: ${good.mac} has not failed, its state is upgraded` },
  })
  expect(await change(id, 'retry')).toMatchObject({ status: 200, body: { retried: 1, skipped: [] } })
  await play()
  expect(await detail(id)).toMatchObject({ status: 'completed', targets: { failed: [] }, notes: [] })
  expect(reboots()).toEqual([(before[0] ?? 0) + 1, before[1]])
})

it('a router that is excluded before the start keeps its version, and the others are upgraded', async () => {
  const start = Math.floor(clock.now().getTime() / 1000) + 60
  const id = await upgrade({ start_time: start })
  const [left, other] = routers
  const body = { macs: [left.mac], note: 'the rack moves' }
  expect(await change(id, 'exclude', body)).toMatchObject({ status: 200, body: { excluded: 1, skipped: [] } })
  expect((await detail(id)).targets).toMatchObject({ queued: [other.mac], cancelled: [left.mac] })
  expect((await change(id, 'exclude', body)).body).toMatchObject({ excluded: 0, skipped: [{ macs: [left.mac] }] })
  clock.advance(61_000)
  await play()
  expect(reboots()).toEqual([0, 1])
  expect(await get(`${path()}/${id}/targets?status=cancelled`)).toMatchObject([
    { mac: left.mac, reason: expect.stringMatching(/^excluded by .+: the rack moves$/) },
  ])
  // It is free for another upgrade.
  await upgrade({ device_ids: [left.id] })
})

it('changes have no effect by the path of another kind of upgrades', async () => {
  const ofRouters = await upgrade({ device_ids: [routers[0].id] })
  const devices = `/orgs/${admin.orgId}/devices/upgrade`
  const plain = await server.call('POST', devices, { body: { all_sites: true, version: '2.0.0' }, as: admin })
  expect((await get(devices)).map(({ id }: AnyJson) => id)).toEqual([plain.body.id])
  const bodies: Readonly<Record<string, object>> = { exclude: { macs: [routers[0].mac] }, approve: { phase: 0 } }
  for (const name of ['cancel', 'pause', 'resume', 'approve', 'retry', 'exclude']) {
    const body = bodies[name] ?? {}
    for (const other of [`${devices}/${ofRouters}`, `${path()}/${plain.body.id}`])
      expect((await server.call('POST', `${other}/${name}`, { body, as: admin })).status).toBe(404)
  }
})
