// What a person with a role at one site may change of its upgrades, and see of them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type Fleet, NEW, type SeededOrg } from '../../support/fleets/fleet.ts'
import { addPrivilege } from '../../support/people.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { addFleet, playAll } from './served-fleet.ts'
import { routerCapabilities } from './ssr-world.ts'

let clock: TestClock
let server: TestServer
let admin: TestOrg
/** May write at the first and the third site only. */
let local: TestOrg
let org: SeededOrg
let fleet: Fleet
beforeAll(async () => {
  clock = createTestClock()
  server = await startTestServer(clock)
})
afterAll(() => server.close())
beforeEach(async () => {
  const router = { model: 'SSR120', type: 'gateway', capabilities: routerCapabilities } as const
  ;({ admin, org, fleet } = await addFleet(server, [{ devices: 2 }, { devices: 2 }, { devices: 2, ...router }]))
  local = await server.addOrg('Local')
  for (const site_id of [siteId(0), siteId(2)])
    await addPrivilege(
      server,
      { orgId: admin.orgId, adminId: local.adminId },
      { scope: 'site', role: 'write', site_id },
    )
  await fleet.connect(org.sites.flatMap((site) => site.devices))
})

const siteId = (index: number): string => org.sites[index]?.id ?? ''
const macs = (index: number): string[] => org.sites[index]?.devices.map(({ mac }) => mac).toSorted() ?? []
const whole = () => `/orgs/${admin.orgId}/devices/upgrade`
const path = (id: string, index = 0) => `/sites/${siteId(index)}/devices/upgrade/${id}`
const get = (of: string): Promise<Answer> => server.call('GET', of, { as: local })
const post = (to: string, body: unknown = {}): Promise<Answer> => server.call('POST', to, { body, as: local })
const done = { status: 200, body: {} }

async function start(body: object = {}): Promise<string> {
  const made = await post(`/sites/${siteId(0)}/devices/upgrade`, { version: NEW, ...body })
  expect(made).toMatchObject({ status: 200, body: { upgrade_id: expect.any(String) } })
  return made.body.upgrade_id
}

/** Runs the engine until no device gets a further command. */
const play = (outcome: 'upgrades' | 'keeps_old' = 'upgrades'): Promise<void> =>
  playAll({ server, fleet, clock }, () => outcome)

describe('a person with a role at one site', () => {
  it('approves, pauses and resumes an upgrade of the site, which the audit log and the webhooks of the site get', async () => {
    const id = await start({ phase_gates: [{ phase: 0, wait_for: 'approval' }] })
    expect((await get(path(id))).body).toMatchObject({ held: { by: 'approval' } })
    expect((await get(`/sites/${siteId(0)}/upgrades/${id}`)).body).not.toHaveProperty('other_sites')
    expect(await post(path(id, 1) + '/approve', { phase: 0 })).toMatchObject({ status: 404 })
    expect(await post(`${path(id)}/approve`, { phase: 1 })).toMatchObject({ status: 400 })
    expect(await post(`${path(id)}/approve`, { phase: 0, note: 'tried' })).toMatchObject(done)
    expect(await post(`${path(id)}/pause`)).toMatchObject(done)
    await play()
    expect(fleet.attempts.size).toBe(0)
    expect((await get(path(id))).body).toMatchObject({ held: { by: 'user' } })
    expect(await post(`${path(id)}/resume`)).toMatchObject(done)
    await play()
    expect((await get(path(id))).body).toMatchObject({ status: 'completed' })
    const { db } = server.ctx
    const events = await db.selectFrom('upgradeEvent').select('event').where('orgId', '=', admin.orgId).execute()
    const place = { site_id: siteId(0), site_upgrade_id: id, admin_id: local.adminId }
    for (const type of ['UPGRADE_APPROVED', 'UPGRADE_PAUSED', 'UPGRADE_RESUMED'])
      expect(events).toContainEqual({ event: expect.objectContaining({ type, ...place }) })
    const logs = db.selectFrom('auditLog').select('message').where('siteId', '=', siteId(0)).orderBy('id')
    expect((await logs.execute()).map(({ message }) => message.replace(/ [\da-f-]{36}/, ''))).toEqual([
      `Upgrade 2 devices to ${NEW}`,
      'Approve the start (phase 0) of upgrade',
      'Pause upgrade',
      'Resume upgrade',
    ])
    const { decisions } = (await get(`${path(id)}/report`)).body
    expect(decisions.map(({ type }: AnyJson) => type)).toEqual([
      ...['UPGRADE_CREATED', 'UPGRADE_HELD', 'UPGRADE_APPROVED', 'UPGRADE_PAUSED', 'UPGRADE_RESUMED'],
    ])
  })

  it('retries failed devices of the site, except those that are at another one by now', async () => {
    const id = await start()
    const withoutDevices = await start()
    await play('keeps_old')
    const [here = '', away = ''] = macs(0)
    expect((await get(`${path(id)}/targets?status=failed`)).body).toHaveLength(2)
    await server.ctx.db
      .updateTable('device')
      .set({ siteId: siteId(1), name: 'Moved' })
      .where('mac', '=', away)
      .execute()
    await fleet.disconnect(org.sites[0]?.devices.filter(({ mac }) => mac === away) ?? [])
    const { body: target } = await get(`${path(id)}/targets/${away}`)
    expect(target).not.toHaveProperty('name')
    const leaves = {
      what: 'AP_DISCONNECTED',
      cause: '',
      kind: 'event',
      timestamp: Math.floor(clock.now().getTime() / 1000),
    }
    expect(target.timeline).not.toContainEqual(leaves)
    const { body: list } = await server.call('GET', whole(), { as: admin })
    const [last, first] = list.map((upgrade: AnyJson) => `${whole()}/${upgrade.id}`)
    const seen = await server.call('GET', `${first}/targets/${away}`, { as: admin })
    expect(seen.body).toMatchObject({ name: 'Moved', timeline: expect.arrayContaining([leaves]) })
    for (const [ofOrg, ofSite] of [
      [first, path(id)],
      [last, path(withoutDevices)],
    ]) {
      const report = await server.call('GET', `${ofOrg}/report?format=csv`, { as: admin })
      expect(report.body).toContain(`${away},Moved,`)
      expect((await get(`${ofSite}/report?format=csv`)).body).toContain(`${away},,`)
    }
    const skipped = [{ reason: 'no longer at the site', macs: [away] }]
    expect(await post(`${path(id)}/retry`)).toMatchObject({ status: 200, body: { retried: 1, skipped } })
    await play()
    expect((await get(path(id))).body.targets).toMatchObject({ upgraded: [here], failed: [away] })
  })

  it('reads the devices of the site by the id of the upgrade or that of its part, and never those of another site', async () => {
    const { body } = await server.call('POST', whole(), { body: { all_sites: true, version: NEW }, as: admin })
    const { upgrade: part } = body.upgrades.find(({ site_id: id }: AnyJson) => id === siteId(0))
    expect((await get(`/sites/${siteId(0)}/upgrades/${part.id}`)).body).toMatchObject({ id: body.id, kind: 'device' })
    for (const id of [body.id, part.id]) {
      const { body: targets } = await get(`${path(id)}/targets`)
      expect(targets.map(({ mac }: AnyJson) => mac).toSorted()).toEqual(macs(0))
      expect((await get(path(id))).body).toMatchObject({ id: part.id, targets: { total: 2 } })
      expect((await get(`${path(id)}/report`)).body).toMatchObject({ upgrade_id: body.id, total: 2 })
      expect(await get(`${path(id)}/targets/${macs(0)[0]}`)).toMatchObject({ status: 200, body: { mac: macs(0)[0] } })
      expect(await get(`${path(id)}/targets/${macs(1)[0]}`)).toMatchObject({ status: 404 })
      expect(await get(`${path(id)}/targets?site_id=${siteId(1)}`)).toMatchObject({ status: 400 })
      expect(await get(`${path(id, 1)}/targets`)).toMatchObject({ status: 404 })
    }
  })

  it('excludes and cancels only at the site where an upgrade has several, and neither pauses nor continues it', async () => {
    const { body } = await server.call('POST', whole(), { body: { all_sites: true, version: NEW }, as: admin })
    const refused = (done: string) => ({
      status: 400,
      body: {
        detail: `The upgrade can't be ${done} at this site, because it concerns other sites, too: this needs access to the organization`,
      },
    })
    expect(await post(`${path(body.id)}/pause`)).toMatchObject(refused('paused'))
    expect(await post(`${path(body.id)}/resume`)).toMatchObject(refused('resumed'))
    expect(await post(`${path(body.id)}/retry`)).toMatchObject(refused('retried'))
    expect(await post(`${path(body.id)}/approve`, { phase: 1 })).toMatchObject(refused('approved'))
    const [mine, other] = [macs(0)[0], macs(1)[0]]
    expect(await post(`${path(body.id)}/exclude`, { macs: [mine, other] })).toMatchObject({
      status: 400,
      body: { detail: `Invalid field macs.1: ${other} is not a device of this upgrade` },
    })
    expect((await post(`${path(body.id)}/exclude`, { macs: [mine] })).body).toMatchObject({ excluded: 1 })
    expect(await post(`${path(body.id)}/cancel`)).toMatchObject(done)
    await play()
    const { upgrades } = (await server.call('GET', `${whole()}/${body.id}`, { as: admin })).body
    const statuses = upgrades.map(({ site_id: id, upgrade }: AnyJson) => [id, upgrade.status])
    expect(statuses).toEqual(
      expect.arrayContaining([
        [siteId(0), 'cancelled'],
        [siteId(1), 'completed'],
      ]),
    )
  })

  it('does not pause an upgrade that takes in devices of sites that are created later', async () => {
    for (const index of [1, 2]) {
      await server.ctx.db.deleteFrom('device').where('siteId', '=', siteId(index)).execute()
      await server.ctx.db.deleteFrom('site').where('id', '=', siteId(index)).execute()
    }
    const body = { all_sites: true, include_new: true, version: NEW }
    const made = await server.call('POST', whole(), { body, as: admin })
    expect(made.body.upgrades).toHaveLength(1)
    expect(await post(`${path(made.body.id)}/pause`)).toMatchObject({ status: 400 })
    expect((await get(`/sites/${siteId(0)}/upgrades/${made.body.id}`)).body).toMatchObject({ other_sites: true })
  })
})

it('a person with a role at the site of a router pauses, resumes, retries and cancels its upgrade', async () => {
  const [router, other] = org.sites[2]?.devices ?? []
  const at = `/sites/${siteId(2)}/ssr`
  const { body } = await post(`${at}/${router?.id}/upgrade`, { version: NEW })
  const one = `${at}/upgrade/${body.id}`
  expect(await post(`${one}/pause`)).toMatchObject(done)
  expect((await get(one)).body).toMatchObject({ held: { by: 'user' } })
  expect(await post(`${one}/resume`)).toMatchObject(done)
  await play('keeps_old')
  expect((await get(`${one}/targets`)).body).toMatchObject([{ mac: router?.mac, status: 'failed' }])
  expect((await get(`${one}/report?devices=false`)).body).toMatchObject({ failed: 1 })
  expect((await post(`${one}/retry`)).body).toMatchObject({ retried: 1 })
  expect((await post(`${one}/exclude`, { macs: [router?.mac] })).body).toMatchObject({ excluded: 1 })
  const { body: second } = await post(`${at}/${other?.id}/upgrade`, { version: NEW })
  expect(await post(`${at}/upgrade/${second.id}/cancel`)).toMatchObject(done)
  await play()
  expect((await get(`${at}/upgrade/${second.id}`)).body).toMatchObject({ status: 'cancelled' })
  // By the path of another kind it is not found, nor is an approval, which no upgrade of routers awaits.
  expect(await post(`${path(second.id, 2)}/cancel`)).toMatchObject({ status: 404 })
  expect(await post(`${one}/approve`, { phase: 0 })).toMatchObject({
    status: 400,
    body: { detail: 'Invalid field phase: is 0, but no phase of the upgrade waits for an approval' },
  })
})
