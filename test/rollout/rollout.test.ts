import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { OrgUpgrade, OrgUpgradeRequest } from '../../src/upgrades/org-upgrade.ts'
import { cancelOrgUpgrade } from '../../src/upgrades/cancel-org-upgrade.ts'
import { createOrgUpgrade } from '../../src/upgrades/create-org-upgrade.ts'
import { getOrgUpgrade } from '../../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../../src/upgrades/wire-parse.ts'
import type { OrgUpgradeBody } from '../../src/upgrades/wire.ts'
import { type RolloutOptions, type TargetState, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceSiteUpgrades, advanceRollouts } from '../../src/rollout/worker.ts'
import { claimSiteUpgrades } from '../../src/rollout/store.ts'
import {
  NEW,
  type Fleet,
  type Reply,
  type SeededDevice,
  type SeededOrg,
  createFleet,
  seedOrg,
} from '../support/fleet.ts'
import { type TestContext, createTestContext } from '../support/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { expectConsistent } from './expect-consistent.ts'

const options: RolloutOptions = { ...defaultRolloutOptions, soakMs: 0 }

let clock: TestClock
let test: TestContext
let org: SeededOrg
let fleet: Fleet
beforeEach(async () => {
  clock = createTestClock()
  test = await createTestContext(clock)
})
afterEach(() => test.close())

async function seed(devices: readonly number[], { online = true } = {}): Promise<SeededDevice[]> {
  org = await seedOrg(
    test.ctx,
    devices.map((count) => ({ devices: count })),
  )
  fleet = createFleet(test.ctx, [org])
  const all = org.sites.flatMap((site) => site.devices)
  if (online) await fleet.connect(all)
  return all
}

const create = (body: OrgUpgradeBody = {}): Promise<OrgUpgrade> => {
  const request: OrgUpgradeRequest = parseOrgUpgrade({ all_sites: true, ...body })
  return createOrgUpgrade(test.ctx, org.scope, request)
}
const read = (id: string): Promise<OrgUpgrade> => getOrgUpgrade(test.ctx.db, org.scope, id)
async function advance(): Promise<void> {
  // A woken worker runs later than the round before.
  clock.advance(1)
  await advanceRollouts(test.ctx, options, new AbortController().signal)
}

/** How many targets of the first site are in each state. */
function countOf(upgrade: OrgUpgrade, site = 0): Record<string, number> {
  const targets = upgrade.siteUpgrades[site]?.targets ?? {}
  return Object.fromEntries(Object.entries(targets).map(([state, list]) => [state, list.length]))
}
const statusOf = (upgrade: OrgUpgrade): string[] => upgrade.siteUpgrades.map(({ status }) => status)

/** Rounds of engine and fleet until nothing is sent any more, with a second between them. */
async function play(reply?: (device: SeededDevice, attempt: number) => Reply): Promise<void> {
  for (let quiet = 0; quiet < 3;) {
    await advance()
    quiet = (await fleet.answer(reply)) === 0 ? quiet + 1 : 0
    clock.advance(1000)
  }
  await advance()
}

async function eventsOf(): Promise<Record<string, number>> {
  const rows = await test.ctx.db.selectFrom('deviceEvent').select('type').where('type', 'like', '%UPGRADE%').execute()
  return Object.fromEntries([...Map.groupBy(rows, ({ type }) => type)].map(([type, some]) => [type, some.length]))
}

async function targetsIn(state: TargetState): Promise<SeededDevice[]> {
  const rows = await test.ctx.db.selectFrom('upgradeTarget').select('deviceId').where('state', '=', state).execute()
  return org.sites.flatMap((site) => site.devices).filter(({ id }) => rows.some(({ deviceId }) => deviceId === id))
}

describe('an upgrade', () => {
  it('of several sites completes, each device flashed once, and tells of it', async () => {
    const devices = await seed([3, 2])
    const { id } = await create()
    await play()
    const upgrade = await read(id)
    expect(statusOf(upgrade)).toEqual(['completed', 'completed'])
    expect(countOf(upgrade)).toEqual({ upgraded: 3 })
    expect([...fleet.flashes.values()]).toEqual([1, 1, 1, 1, 1])
    expect(await eventsOf()).toEqual({ AP_UPGRADE_BY_USER: 5, AP_UPGRADED: 5 })
    const statuses = await test.ctx.db.selectFrom('deviceStatus').select(['firmware', 'fwupdate']).execute()
    expect(statuses).toHaveLength(devices.length)
    for (const { firmware, fwupdate } of statuses) {
      expect(firmware).toBe(NEW)
      expect(fwupdate).toMatchObject({ progress: 100, status: 'success', will_retry: false })
    }
    await expectConsistent(test.ctx)
  })

  it('opens a phase when the one before has ended', async () => {
    await seed([20])
    const { id } = await create({ reboot_strategy: 'canary', canary_phases: [10, 50] })
    for (const size of [2, 8, 10]) {
      await advance()
      expect(countOf(await read(id))).toMatchObject({ dl_requested: size })
      await expectConsistent(test.ctx)
      // All but one: the gate stays shut.
      let silent = 1
      expect(await fleet.answer(() => (silent-- > 0 ? 'silent' : 'upgrades'))).toBe(size)
      await advance()
      expect(await fleet.answer()).toBe(0)
      const [slow] = await targetsIn('dl_requested')
      await fleet.disconnect(slow === undefined ? [] : [slow])
      await fleet.connect(slow === undefined ? [] : [slow], NEW)
    }
    await advance()
    expect(statusOf(await read(id))).toEqual(['completed'])
  })

  it('leaves out what it cannot upgrade, and says why', async () => {
    const devices = await seed([3])
    await fleet.connect(devices.slice(0, 1), NEW)
    const first = await create()
    expect(countOf(first)).toEqual({ planned: 2, skipped: 1 })
    const second = await create()
    expect(statusOf(second)).toEqual(['completed'])
    expect(second.siteUpgrades[0]?.notes).toHaveLength(2)
    expect(second.siteUpgrades[0]?.notes[0]).toMatchObject({ reason: 'in another upgrade' })
    await play()
    expect(countOf(await read(first.id))).toEqual({ upgraded: 2, skipped: 1 })
    expect(countOf(await create())).toEqual({ skipped: 3 })
    await expectConsistent(test.ctx)
  })

  it('waits for its reboot instant', async () => {
    await seed([1])
    const at = clock.now().getTime() / 1000 + 3600
    const { id } = await create({ start_time: at - 1800, reboot_at: at })
    clock.advance(3599_000)
    await advance()
    expect(statusOf(await read(id))).toEqual(['queued'])
    clock.advance(1000)
    await advance()
    expect(statusOf(await read(id))).toEqual(['downloading'])
  })

  it('does not wait for absent devices, takes them when they come, and gives them up at last', async () => {
    const devices = await seed([4], { online: false })
    await fleet.connect(devices.slice(0, 2))
    const { id } = await create({ reboot_strategy: 'canary' })
    await play()
    expect(countOf(await read(id))).toEqual({ upgraded: 2, deferred: 2 })
    await fleet.connect(devices.slice(2, 3))
    clock.advance(5000)
    await play()
    expect(countOf(await read(id))).toEqual({ upgraded: 3, deferred: 1 })
    clock.advance(72 * 3600e3)
    await advance()
    expect(countOf(await read(id))).toEqual({ upgraded: 3, failed: 1 })
    expect(statusOf(await read(id))).toEqual(['completed'])
    expect(await eventsOf()).toMatchObject({ AP_UPGRADED: 3, AP_UPGRADE_FAILED: 1 })
    await expectConsistent(test.ctx)
  })
})

describe('a lost answer', () => {
  it('is repeated once the first attempt is certainly dead', async () => {
    await seed([1])
    const { id } = await create()
    await play((_, attempt) => (attempt === 1 ? 'loses_early' : 'upgrades'))
    clock.advance(30_000)
    await play((_, attempt) => (attempt === 1 ? 'loses_early' : 'upgrades'))
    expect(countOf(await read(id))).toEqual({ upgraded: 1 })
    const downloads = await test.ctx.db.selectFrom('firmwareDownload').selectAll().execute()
    expect(downloads).toMatchObject([{ deliveredAt: null, fencedAt: expect.any(Date) }])
    expect([...fleet.attempts.values()]).toEqual([2])
  })

  it('of a gateway that crashes again and again costs the device no attempt', async () => {
    const devices = await seed([1])
    const { id } = await create()
    for (let crash = 0; crash < 5; crash += 1) {
      await play(() => 'silent')
      await fleet.crash(devices)
      await play(() => 'silent')
    }
    expect(countOf(await read(id))).toEqual({ dl_requested: 1 })
    await fleet.crash(devices)
    await play()
    expect(countOf(await read(id))).toEqual({ upgraded: 1 })
    expect(statusOf(await read(id))).toEqual(['completed'])
    expect([...fleet.attempts.values()]).toEqual([7])
    expect([...fleet.flashes.values()]).toEqual([1])
    await expectConsistent(test.ctx)
  })

  it('is not repeated where the device has the image', async () => {
    await seed([1])
    const { id } = await create()
    await play(() => 'loses_late')
    expect(countOf(await read(id))).toEqual({ upgraded: 1 })
    expect([...fleet.attempts.values()]).toEqual([1])
    expect([...fleet.flashes.values()]).toEqual([1])
  })
})

describe('failures', () => {
  it('are told with their reason', async () => {
    const [refusing, old, dead] = await seed([3])
    const replies = new Map<SeededDevice | undefined, Reply>([
      [refusing, 'refuses'],
      [old, 'keeps_old'],
      [dead, 'dies'],
    ])
    const { id } = await create()
    for (let round = 0; round < 4; round += 1) {
      await play((device) => replies.get(device) ?? 'upgrades')
      clock.advance(300_000)
    }
    expect(countOf(await read(id))).toEqual({ failed: 3 })
    expect(statusOf(await read(id))).toEqual(['completed'])
    const targets = await test.ctx.db
      .selectFrom('upgradeTarget')
      .select(['deviceId', 'reason'])
      .orderBy('deviceId')
      .execute()
    expect(targets.map(({ reason }) => reason)).toEqual(['Download failed', 'not_applied', 'no_reconnect'])
    expect([...fleet.attempts.values()].toSorted((a, b) => a - b)).toEqual([1, 1, 3])
    await expectConsistent(test.ctx)
  })

  it('of the content are final: nothing is tried again', async () => {
    await seed([2])
    const { id } = await create()
    await play(() => 'refuses_content')
    expect(countOf(await read(id))).toEqual({ failed: 2 })
    expect([...fleet.attempts.values()]).toEqual([1, 1])
    const failures = (await read(id)).siteUpgrades.flatMap((site) => site.failures.map(({ reason }) => reason))
    expect(failures).toEqual(['Invalid signature', 'Invalid signature'])
  })

  it('beyond the limit stop all sites, and nothing is commanded after', async () => {
    await seed([10, 10])
    const { id } = await create({ reboot_strategy: 'serial', max_failure_percentage: 5 })
    // One failure of ten is too much for a site; two of twenty would be for both.
    await play(() => 'keeps_old')
    const upgrade = await read(id)
    expect(statusOf(upgrade)).toEqual(['failed', 'failed'])
    expect(countOf(upgrade)).toEqual({ failed: 1, cancelled: 9 })
    expect(upgrade.siteUpgrades.map(({ stopReason }) => stopReason)).toEqual([
      expect.stringMatching(/failed/),
      expect.stringMatching(/failed/),
    ])
    expect(upgrade.siteUpgrades[0]?.failures).toEqual([{ mac: expect.any(String), reason: 'not_applied' }])
    expect([...fleet.attempts.values()]).toEqual([1, 1])
    await expectConsistent(test.ctx)
  })

  it('of one site count for the whole organization', async () => {
    await seed([40, 1])
    const [, small] = org.sites
    const { id } = await create({ reboot_strategy: 'serial', max_failure_percentage: 2 })
    // One of one is too much for the small site, and one of 41 for all of them together.
    await play((device) => (small?.devices.includes(device) === true ? 'keeps_old' : 'silent'))
    const upgrade = await read(id)
    const big = upgrade.siteUpgrades.findIndex(({ siteId }) => siteId === org.sites[0]?.id)
    expect(countOf(upgrade, big)).toEqual({ cancelled: 40 })
    const row = await test.ctx.db
      .selectFrom('siteUpgrade')
      .select(['status', 'stopReason'])
      .where('siteId', '=', org.sites[0]?.id ?? '')
      .execute()
    expect(row).toEqual([{ status: 'failed', stopReason: 'more than 2 % of 41 devices in all sites failed' }])
  })
})

describe('a cancelled upgrade', () => {
  it('commands nothing more; what has its image ends, and the record names it', async () => {
    await seed([4])
    const { id } = await create({ reboot_strategy: 'serial' })
    await advance()
    await fleet.answer(() => 'fetches')
    const [device] = await targetsIn('dl_requested')
    await cancelOrgUpgrade(test.ctx, org.scope, id)
    await advance()
    expect(countOf(await read(id))).toEqual({ downloading: 1, cancelled: 3 })
    await fleet.disconnect(device === undefined ? [] : [device])
    await fleet.connect(device === undefined ? [] : [device], NEW)
    await advance()
    expect(countOf(await read(id))).toEqual({ upgraded: 1, cancelled: 3 })
    expect(statusOf(await read(id))).toEqual(['cancelled'])
    await cancelOrgUpgrade(test.ctx, org.scope, id)
    const logs = await test.ctx.db.selectFrom('auditLog').select('after').where('message', 'like', 'Cancel%').execute()
    expect(logs).toMatchObject([{ after: { in_flight_total: 1, in_flight: [device?.mac] } }])
    await expectConsistent(test.ctx)
  })

  it('cuts off downloads and takes back commands with its commit, before the engine looks', async () => {
    await seed([40])
    const { id } = await create()
    await advance()
    let fetched = 0
    await fleet.answer(() => (fetched++ < 3 ? 'fetches' : 'silent'))
    await cancelOrgUpgrade(test.ctx, org.scope, id)
    const downloads = await test.ctx.db.selectFrom('firmwareDownload').select(['deliveredAt', 'fencedAt']).execute()
    expect(downloads.filter(({ deliveredAt }) => deliveredAt !== null)).toHaveLength(3)
    expect(downloads.filter(({ fencedAt }) => fencedAt !== null)).toHaveLength(37)
    await advance()
    expect(countOf(await read(id))).toEqual({ downloading: 3, cancelled: 37 })
    await expectConsistent(test.ctx)
  })

  it('takes back commands that have not left', async () => {
    await seed([2])
    const { id } = await create()
    await advance()
    await cancelOrgUpgrade(test.ctx, org.scope, id)
    expect(await fleet.answer()).toBe(0)
    await advance()
    expect(countOf(await read(id))).toEqual({ cancelled: 2 })
    expect(statusOf(await read(id))).toEqual(['cancelled'])
    const shown = test.ctx.db.selectFrom('deviceStatus').select('fwupdate').where('orgId', '=', org.scope.orgId)
    expect(await shown.execute()).toEqual([{ fwupdate: null }, { fwupdate: null }])
  })

  it('ends before it has begun', async () => {
    await seed([2])
    const { id } = await create({ start_time: clock.now().getTime() / 1000 + 3600 })
    await cancelOrgUpgrade(test.ctx, org.scope, id)
    await advance()
    expect(statusOf(await read(id))).toEqual(['cancelled'])
    expect(fleet.attempts.size).toBe(0)
  })
})

describe('workers', () => {
  const claim = () =>
    claimSiteUpgrades(test.ctx.db, {
      nowMs: clock.now().getTime(),
      changed: [],
      seen: [],
      dueBeforeMs: clock.now().getTime() + 1,
      leaseUntilMs: clock.now().getTime() + 10_000,
      limit: 10,
    })

  it('hold a claim alone until its lease ends; a claim that was taken over writes nothing', async () => {
    await seed([2])
    const { id } = await create()
    const stale = await claim()
    expect(stale).toHaveLength(1)
    expect(await claim()).toEqual([])
    clock.advance(10_000)
    const fresh = await claim()
    expect(fresh).toHaveLength(1)
    await advanceSiteUpgrades(test.ctx, stale, options)
    expect(countOf(await read(id))).toEqual({ planned: 2 })
    await advanceSiteUpgrades(test.ctx, fresh, options)
    expect(countOf(await read(id))).toEqual({ dl_requested: 2 })
    expect(await test.ctx.db.selectFrom('deviceCommand').select('id').execute()).toHaveLength(2)
  })

  it('may run side by side', async () => {
    await seed([5, 5, 5, 5])
    const { id } = await create({ reboot_strategy: 'canary' })
    for (let round = 0; round < 12; round += 1) {
      await Promise.all([advance(), advance(), fleet.answer()])
      clock.advance(1000)
    }
    expect(statusOf(await read(id))).toEqual(['completed', 'completed', 'completed', 'completed'])
    expect([...fleet.attempts.values()].every((count) => count === 1)).toBe(true)
    await expectConsistent(test.ctx)
  })

  it('that die between any two commits are made up for by the next', async () => {
    await seed([6])
    const { id } = await create({ reboot_strategy: 'canary', canary_phases: [50, 100] })
    for (let round = 0; round < 20; round += 1) {
      // Dead after the claim: nobody else takes it before the lease ends.
      await claim()
      clock.advance(10_000)
      await advance()
      await expectConsistent(test.ctx)
      await fleet.answer()
    }
    expect(statusOf(await read(id))).toEqual(['completed'])
    expect([...fleet.flashes.values()]).toEqual([1, 1, 1, 1, 1, 1])
  })
})

it('a device that leaves the organization is let be', async () => {
  const [device] = await seed([1])
  const { id } = await create()
  await advance()
  await test.ctx.db
    .deleteFrom('device')
    .where('id', '=', device?.id ?? '')
    .execute()
  await advance()
  expect(countOf(await read(id))).toEqual({ cancelled: 1 })
  expect(statusOf(await read(id))).toEqual(['completed'])
})
