import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RolloutOptions, defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { advanceRollouts, followWallClock } from '../../../src/rollout/worker.ts'
import { createOrgUpgrade } from '../../../src/upgrades/creation/create-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { getOrgUpgrade } from '../../../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../../../src/upgrades/wire-parse.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import {
  NEW,
  OLD,
  type Fleet,
  type Reply,
  type SeededDevice,
  type SeededOrg,
  createFleet,
  seedOrg,
} from '../../support/fleets/fleet.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { type Times, createTimes } from '../times.ts'

const MINUTE_MS = 60_000
const options: RolloutOptions = { ...defaultRolloutOptions, soakMs: 2 * MINUTE_MS }

let times: Times
let test: TestContext
let org: SeededOrg
let fleet: Fleet
let devices: readonly SeededDevice[]
/** The worker's state between two rounds. */
let offsetMs: number | null
beforeEach(async () => {
  times = createTimes()
  offsetMs = null
  test = await createTestContext(times.wall, { serviceClock: times.service })
  org = await seedOrg(test.ctx, [{ devices: 4 }])
  devices = org.sites.flatMap((site) => site.devices)
  fleet = createFleet(test.ctx, [org])
  await fleet.connect(devices)
})
afterEach(() => test.close())

async function create(body: OrgUpgradeBody = {}): Promise<string> {
  return (await createOrgUpgrade(test.ctx, org.scope, parseOrgUpgrade({ all_sites: true, ...body }))).id
}

async function advance(): Promise<void> {
  times.pass(1000)
  offsetMs = await followWallClock(test.ctx, offsetMs)
  await advanceRollouts(test.ctx, options, new AbortController().signal)
  await expectConsistent(test.ctx)
}

async function play(reply: Reply, rounds = 4): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await advance()
    await fleet.answer(() => reply)
  }
  await advance()
}

async function countsOf(id: string): Promise<Record<string, number>> {
  const [site] = (await getOrgUpgrade(test.ctx.db, org.scope, id)).siteUpgrades
  return Object.fromEntries(Object.entries(site?.targets ?? {}).map(([state, macs]) => [state, macs.length]))
}

const statusOf = async (id: string) => (await getOrgUpgrade(test.ctx.db, org.scope, id)).siteUpgrades[0]?.status

describe('an outage of the service', () => {
  it('lets no device that reboots meanwhile time out', async () => {
    const id = await create()
    await play('dies')
    expect(await countsOf(id)).toEqual({ rebooting: 4 })
    times.outage(630_000)
    await fleet.markSessionsLost()
    await advance()
    expect(await countsOf(id)).toEqual({ rebooting: 4 })
    // Simulates access points that have retried for this long: they come one by one, the last after some minutes.
    for (const device of devices) {
      times.pass(2 * MINUTE_MS)
      await advance()
      await fleet.connect([device], NEW)
    }
    await advance()
    times.pass(options.soakMs)
    await advance()
    expect(await countsOf(id)).toEqual({ upgraded: 4 })
    expect(await statusOf(id)).toBe('completed')
  })

  it('does not count towards the soak, and a device soaks anew after it', async () => {
    const id = await create()
    await play('upgrades')
    expect(await countsOf(id)).toEqual({ verifying: 4 })
    times.outage(3600_000)
    await fleet.markSessionsLost()
    await advance()
    times.pass(options.soakMs)
    await advance()
    expect(await countsOf(id)).toEqual({ verifying: 4 })
    await fleet.connect(devices, NEW, 'socket')
    times.pass(options.soakMs - 2000)
    await advance()
    expect(await countsOf(id)).toEqual({ verifying: 4 })
    await advance()
    expect(await countsOf(id)).toEqual({ upgraded: 4 })
  })

  it('opens no phase early: devices that have not come back yet do not count as absent', async () => {
    const id = await create({ reboot_strategy: 'canary', canary_phases: [50] })
    times.outage(60_000)
    await fleet.markSessionsLost()
    await play('upgrades')
    expect(await countsOf(id)).toEqual({ planned: 4 })
    await fleet.connect(devices)
    await play('silent')
    expect(await countsOf(id)).toEqual({ dl_requested: 2, planned: 2 })
  })

  it('costs the commands that wait for their device nothing', async () => {
    const id = await create()
    await advance()
    times.outage(20 * MINUTE_MS)
    await fleet.markSessionsLost()
    await fleet.connect(devices, OLD, 'socket')
    await advance()
    expect(await fleet.answer()).toBe(4)
    expect(await countsOf(id)).toEqual({ dl_requested: 4 })
  })
})

describe('a step of the wall clock', () => {
  it.each([-2, 2])('by %i hours stalls nothing and costs nothing', async (hours) => {
    const id = await create({ reboot_strategy: 'serial' })
    await play('upgrades', 2)
    times.wall.advance(hours * 3600_000)
    for (let device = 0; device < 4; device += 1) {
      await play('upgrades')
      times.pass(options.soakMs)
    }
    await advance()
    expect(await countsOf(id)).toEqual({ upgraded: 4 })
    expect([...fleet.attempts.values()]).toEqual([1, 1, 1, 1])
  })

  it('moves a start that people have set: it happens when the clock shows the time', async () => {
    const startAt = times.wall.now().getTime() + 3 * 3600_000
    const id = await create({ start_time: startAt / 1000 })
    await advance()
    times.wall.advance(3 * 3600_000)
    await advance()
    expect(await countsOf(id)).toEqual({ dl_requested: 4 })
  })

  it('back and forth never starts before the time', async () => {
    const id = await create({ start_time: times.wall.now().getTime() / 1000 + 3600 })
    await advance()
    times.wall.advance(-7200_000)
    times.pass(3600_000)
    await advance()
    expect(await countsOf(id)).toEqual({ planned: 4 })
    times.pass(7200_000)
    await advance()
    expect(await countsOf(id)).toEqual({ dl_requested: 4 })
  })
})

/** Expects that devices which run the version already are upgraded by an installation, and not by a power cycle before it. */
async function expectFetchBeforeUpgrade(id: string): Promise<void> {
  await play('silent', 1)
  await fleet.disconnect(devices)
  await fleet.connect(devices, NEW, 'boot')
  await advance()
  times.pass(options.soakMs)
  await advance()
  expect((await countsOf(id))['upgraded']).toBeUndefined()
  await play('upgrades')
  times.pass(options.soakMs)
  await advance()
  expect(await countsOf(id)).toEqual({ upgraded: 4 })
}

describe('a device that got the image', () => {
  it('and stays on the old version without a boot gets the command again', async () => {
    const id = await create()
    await play('loses_delivered', 1)
    expect(await countsOf(id)).toEqual({ rebooting: 4 })
    times.pass(options.notAppliedMs - 5000)
    await advance()
    expect(await countsOf(id)).toEqual({ rebooting: 4 })
    times.pass(5000)
    await play('upgrades')
    expect(await countsOf(id)).toEqual({ verifying: 4 })
    const targets = await test.ctx.db.selectFrom('upgradeTarget').select(['attempt', 'failedAttempts']).execute()
    expect(targets).toEqual(Array.from({ length: 4 }, () => ({ attempt: 2, failedAttempts: 0 })))
  })

  it('is forced onto its own version: a power cycle before it fetched the image is not an upgrade', async () => {
    await fleet.connect(devices, NEW)
    const id = await create({ force: true, version: NEW })
    await expectFetchBeforeUpgrade(id)
  })

  it('is forced onto its own version again: the image of its failed run counts no more', async () => {
    await fleet.connect(devices, NEW)
    const id = await create({ force: true, version: NEW, max_failure_percentage: 100 })
    await play('dies', 2)
    times.pass(options.rebootTimeoutMs.ap)
    await advance()
    expect(await countsOf(id)).toEqual({ failed: 4 })
    await fleet.connect(devices, NEW)
    await retryOrgUpgrade(test.ctx, org.scope, { id, macs: null })
    await expectFetchBeforeUpgrade(id)
  })
})
