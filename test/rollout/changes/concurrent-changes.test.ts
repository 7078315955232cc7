import { pino } from 'pino'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type RolloutOptions, defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../../src/rollout/worker.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { createOrgUpgrade } from '../../../src/upgrades/creation/create-org-upgrade.ts'
import type { OrgUpgrade } from '../../../src/upgrades/org-upgrade.ts'
import { parseOrgUpgrade } from '../../../src/upgrades/wire-parse.ts'
import { type Fleet, type SeededOrg, createFleet, seedOrg } from '../../support/fleets/fleet.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'
import { expectConsistent } from '../expect-consistent.ts'

/** Each round writes all targets several times, at the same time, which takes long on a busy machine. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const options: RolloutOptions = { ...defaultRolloutOptions, soakMs: 0 }
const SITES = 4
const DEVICES_PER_SITE = 25

let clock: TestClock
let test: TestContext
/** The engine's log: it repeats a round that failed, so a deadlock appears only here. */
let logged: string[]
let org: SeededOrg
let fleet: Fleet
beforeEach(async () => {
  clock = createTestClock()
  test = await createTestContext(clock)
  logged = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  test = { ...test, ctx: { ...test.ctx, log } }
  org = await seedOrg(
    test.ctx,
    Array.from({ length: SITES }, () => ({ devices: DEVICES_PER_SITE })),
  )
  fleet = createFleet(test.ctx, [org])
  await fleet.connect(org.sites.flatMap((site) => site.devices))
})
afterEach(() => test.close())

const siteIds = () => org.sites.map(({ id }) => id)
const create = (sites: readonly string[]): Promise<OrgUpgrade> =>
  createOrgUpgrade(test.ctx, org.scope, parseOrgUpgrade({ site_ids: [...sites], strategy: 'big_bang' }))
const advance = (): Promise<null> => advanceRollouts(test.ctx, options, new AbortController().signal)
const plannedIn = ({ siteUpgrades }: OrgUpgrade): number =>
  siteUpgrades.reduce((sum, { targets }) => sum + (targets.planned?.length ?? 0), 0)

it('two upgrades that are created at once over the same devices, in opposite order, share them without a deadlock', async () => {
  for (let round = 0; round < 10; round += 1) {
    const created = await Promise.all([create(siteIds()), create(siteIds().toReversed()), create(siteIds().slice(1))])
    expect(created.reduce((sum, upgrade) => sum + plannedIn(upgrade), 0)).toBe(SITES * DEVICES_PER_SITE)
    await expectConsistent(test.ctx)
    await Promise.all(created.map(({ id }) => cancelOrgUpgrade(test.ctx, org.scope, id)))
    clock.advance(1000)
    await advance()
  }
})

it('creation, rounds of the engine, cancel, commands and connections at once meet no deadlock', async () => {
  const devices = org.sites.flatMap((site) => site.devices)
  for (let round = 0; round < 6; round += 1) {
    const { id } = await create(siteIds())
    await advance()
    await Promise.all([
      fleet.answer(),
      fleet.answer(),
      cancelOrgUpgrade(test.ctx, org.scope, id).then(advance),
      create(siteIds().toReversed()).then((newer) => cancelOrgUpgrade(test.ctx, org.scope, newer.id)),
      fleet.disconnect(devices.toReversed()),
      fleet.disconnect(devices),
      fleet.connect(devices.toReversed()),
    ])
    await fleet.connect(devices)
    for (let more = 0; more < 3; more += 1) {
      clock.advance(1000)
      await Promise.all([advance(), fleet.answer()])
    }
    await expectConsistent(test.ctx)
    clock.advance(3600e3)
    await advance()
  }
  expect(logged).toEqual([])
})
