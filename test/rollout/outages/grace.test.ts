import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RolloutOptions, defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../../src/rollout/worker.ts'
import { createOrgUpgrade } from '../../../src/upgrades/creation/create-org-upgrade.ts'
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
import { randomRuns } from '../../support/random-runs.ts'

const SITES_RUNS = randomRuns(8)
const PATTERNS_RUNS = randomRuns(3)

const MINUTE_MS = 60_000
const options: RolloutOptions = defaultRolloutOptions

let times: Times
let test: TestContext
let org: SeededOrg
let fleet: Fleet
let devices: readonly SeededDevice[]
beforeEach(async () => {
  times = createTimes()
  test = await createTestContext(times.wall, { serviceClock: times.service })
})
afterEach(() => test.close())

/** An organization with sites of so many devices, all connected. */
async function seed(...sizes: readonly number[]): Promise<void> {
  org = await seedOrg(
    test.ctx,
    sizes.map((size) => ({ devices: size })),
  )
  devices = org.sites.flatMap((site) => site.devices)
  fleet = createFleet(test.ctx, [org])
  await fleet.connect(devices)
}

async function create(body: OrgUpgradeBody = {}): Promise<string> {
  const tolerant: OrgUpgradeBody = { all_sites: true, max_failure_percentage: 100 }
  return (await createOrgUpgrade(test.ctx, org.scope, parseOrgUpgrade({ ...tolerant, ...body }))).id
}

async function advance(): Promise<void> {
  times.pass(1000)
  await advanceRollouts(test.ctx, options, new AbortController().signal)
}

async function pass(ms: number): Promise<void> {
  times.pass(ms)
  await advance()
}

/** Commands all devices of the open phases. */
async function play(reply: (device: SeededDevice) => Reply): Promise<void> {
  await advance()
  await fleet.answer(reply)
  await advance()
}

async function countsOf(id: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { targets } of (await getOrgUpgrade(test.ctx.db, org.scope, id)).siteUpgrades)
    for (const [state, macs] of Object.entries(targets)) counts[state] = (counts[state] ?? 0) + macs.length
  await expectConsistent(test.ctx)
  return counts
}

/** The device that the only phase that is open has commanded, and the others. */
async function commandOne(reply: Reply): Promise<readonly SeededDevice[]> {
  let commanded: SeededDevice | undefined
  await play((device) => {
    commanded = device
    return reply
  })
  return devices.filter((device) => device !== commanded)
}

describe('an outage of a site', () => {
  it.each([2, 4])('of %i devices fails none while the others are away or have just returned', async (size) => {
    await seed(size)
    const id = await create({ strategy: 'serial' })
    const others = await commandOne('dies')
    const waiting = { rebooting: 1, planned: size - 1 }
    expect(await countsOf(id)).toEqual(waiting)
    await fleet.disconnect(others)
    await pass(options.rebootTimeoutMs.ap)
    expect(await countsOf(id)).toEqual(waiting)
    await pass(options.reconnectGraceMs - 2000)
    await fleet.connect(others, OLD, 'socket')
    await pass(2000)
    expect(await countsOf(id)).toEqual(waiting)
    // The state of the others has not changed since.
    await pass(options.reconnectGraceMs)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })

  it('that was followed by an outage of the service still counts', async () => {
    await seed(4)
    const id = await create({ strategy: 'serial' })
    const others = await commandOne('dies')
    await fleet.disconnect(others)
    times.pass(MINUTE_MS)
    times.outage(2 * 3600_000)
    await fleet.markSessionsLost()
    await pass(options.reconnectGraceMs)
    expect(await countsOf(id)).toEqual({ rebooting: 1, planned: 3 })
    await fleet.connect(others, OLD, 'socket')
    await pass(options.reconnectGraceMs)
    await pass(options.reconnectGraceMs)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })

  it('that ended before a restart of the service does not count again', async () => {
    await seed(4)
    const id = await create({ strategy: 'serial' })
    const others = await commandOne('dies')
    await fleet.disconnect(others)
    await pass(MINUTE_MS)
    await fleet.connect(others, OLD, 'socket')
    times.outage(MINUTE_MS)
    await fleet.markSessionsLost()
    await fleet.connect(others, OLD, 'socket')
    await pass(options.reconnectGraceMs - MINUTE_MS)
    expect(await countsOf(id)).toEqual({ rebooting: 1, planned: 3 })
    await pass(MINUTE_MS)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })

  it('that ended long before the time of a switch is over does not count', async () => {
    await seed(4)
    const id = await create({ strategy: 'serial' })
    const others = await commandOne('dies')
    await fleet.disconnect(others)
    await fleet.connect(others, OLD, 'socket')
    const patient = { ...options, rebootTimeoutMs: { ...options.rebootTimeoutMs, ap: 20 * MINUTE_MS } }
    times.pass(20 * MINUTE_MS)
    await advanceRollouts(test.ctx, patient, new AbortController().signal)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })

  it('counts that began a moment before the engine knew that the device reboots', async () => {
    await seed(4)
    const id = await create({ strategy: 'serial' })
    await advance()
    let commanded: SeededDevice | undefined
    await fleet.answer((device) => {
      commanded = device
      return 'dies'
    })
    await fleet.disconnect(devices.filter((device) => device !== commanded))
    await advance()
    await pass(options.rebootTimeoutMs.ap)
    expect(await countsOf(id)).toEqual({ rebooting: 1, planned: 3 })
  })

  it('is none where the service itself was away', async () => {
    await seed(4)
    const id = await create({ strategy: 'serial' })
    const others = await commandOne('dies')
    times.outage(MINUTE_MS)
    await fleet.markSessionsLost()
    await fleet.connect(others, OLD, 'socket')
    await pass(options.reconnectGraceMs)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })

  it('is none where only the device itself is away', async () => {
    await seed(4)
    const id = await create({ strategy: 'serial' })
    await commandOne('dies')
    await pass(options.rebootTimeoutMs.ap)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })

  it('where all devices were commanded shows by those that had not fetched the image', async () => {
    await seed(4)
    const id = await create()
    const [first] = devices
    await play((device) => (device === first ? 'dies' : 'silent'))
    await fleet.disconnect(devices.slice(1))
    await pass(options.rebootTimeoutMs.ap)
    expect(await countsOf(id)).toMatchObject({ rebooting: 1 })
  })

  it('does not show by devices that ran the version already', async () => {
    await seed(4)
    await fleet.connect(devices.slice(1), NEW)
    const id = await create()
    await play(() => 'dies')
    await fleet.disconnect(devices.slice(1))
    await pass(options.rebootTimeoutMs.ap)
    expect(await countsOf(id)).toEqual({ skipped: 3, failed: 1 })
  })

  it('does not keep a device in the upgrade for ever', async () => {
    await seed(4)
    const id = await create({ strategy: 'serial' })
    await fleet.disconnect(await commandOne('dies'))
    for (let waitedMs = 0; waitedMs < 2 * 3600_000; waitedMs += 5 * MINUTE_MS) {
      expect(await countsOf(id)).toMatchObject({ rebooting: 1 })
      await pass(5 * MINUTE_MS)
    }
    await pass(30 * MINUTE_MS)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })
})

describe('an outage of many sites', () => {
  it('fails no device at a site with only one', async () => {
    await seed(...Array.from({ length: 10 }, () => 1))
    const id = await create({ canary_phases: [10], strategy: 'canary' })
    const others = await commandOne('dies')
    await fleet.disconnect(others.slice(0, 3))
    await pass(options.rebootTimeoutMs.ap)
    expect(await countsOf(id)).toEqual({ rebooting: 1, planned: 9 })
    await fleet.connect(others.slice(0, 3), OLD, 'socket')
    await pass(options.reconnectGraceMs)
    await pass(options.reconnectGraceMs)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })

  it('is none where a few others lost their connections', async () => {
    await seed(...Array.from({ length: 12 }, () => 1))
    const id = await create({ canary_phases: [5], strategy: 'canary' })
    const others = await commandOne('dies')
    await fleet.disconnect(others.slice(0, 3))
    await pass(options.rebootTimeoutMs.ap)
    expect(await countsOf(id)).toMatchObject({ failed: 1 })
  })
})

describe('bad firmware', () => {
  /** The fates of devices that installed it. The others do not answer, and stay connected. */
  const fates = ['dies', 'loops', 'falls_back', 'silent'] as const
  type Fate = (typeof fates)[number]

  /** Two minutes in the life of a device that boots again and again, into the new version or into the old one. */
  async function loop(some: readonly SeededDevice[], firmware: string): Promise<void> {
    await fleet.connect(some, firmware)
    await pass(MINUTE_MS)
    await fleet.disconnect(some)
    await pass(MINUTE_MS)
  }

  it('is never excused by the devices that it took down itself', async () => {
    const sites = fc.array(fc.array(fc.constantFrom(...fates), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(sites, fc.boolean(), async (sites, hasOther) => {
        await seed(...sites.map(({ length }) => length))
        const fateOf = new Map(devices.map(({ id }, index) => [id, sites.flat()[index] ?? 'silent']))
        const having = (fate: Fate) => devices.filter(({ id }) => fateOf.get(id) === fate)
        // Between two upgrades with the same firmware, failures of one do not excuse the other.
        const [first, ...rest] = org.sites.map(({ id }) => id)
        const ids =
          hasOther && first !== undefined && rest.length > 0
            ? [
                await create({ all_sites: false, site_ids: [first] }),
                await create({ all_sites: false, site_ids: rest }),
              ]
            : [await create()]
        await play(({ id }) => (fateOf.get(id) === 'silent' ? 'silent' : 'dies'))
        for (let minutes = 0; minutes < 20; minutes += 4) {
          await loop(having('loops'), NEW)
          await loop(having('falls_back'), OLD)
        }
        const counts = await Promise.all(ids.map(countsOf))
        const bad = devices.length - having('silent').length
        expect(counts.reduce((sum, { failed = 0 }) => sum + failed, 0)).toBe(bad)
        const graces = test.ctx.db.selectFrom('siteUpgrade').select('id').where('graceUntilMs', 'is not', null)
        expect(await graces.execute()).toEqual([])
      }),
      { numRuns: SITES_RUNS },
    )
  })

  it('fails its devices in the end, whatever the network does to the others', async () => {
    const patterns = fc.array(fc.nat(15), { minLength: 40, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(patterns, async (patterns) => {
        await seed(3, 2)
        const id = await create({ strategy: 'serial' })
        const bad: SeededDevice[] = []
        await play((device) => {
          bad.push(device)
          return 'dies'
        })
        const others = devices.filter((device) => !bad.includes(device))
        for (const pattern of patterns) {
          const away = others.filter((_, index) => (pattern & (1 << index)) !== 0)
          await fleet.disconnect(away)
          await pass(2 * MINUTE_MS)
          await fleet.connect(away, OLD, 'socket')
          await pass(2 * MINUTE_MS)
        }
        expect(await countsOf(id)).toMatchObject({ failed: bad.length })
      }),
      { numRuns: PATTERNS_RUNS },
    )
  })
})
