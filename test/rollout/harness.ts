import { afterEach, beforeEach } from 'vitest'
import type { Context } from '../../src/platform/context.ts'
import { type RolloutOptions, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { createOrgUpgrade } from '../../src/upgrades/creation/create-org-upgrade.ts'
import type { OrgUpgrade } from '../../src/upgrades/org-upgrade.ts'
import { getOrgUpgrade } from '../../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../../src/upgrades/wire-parse.ts'
import type { OrgUpgradeBody } from '../../src/upgrades/wire.ts'
import type { TestConnection } from '../support/database/database.ts'
import {
  type Fleet,
  type Reply,
  type SeededDevice,
  type SeededOrg,
  type SiteSeed,
  createFleet,
  seedOrg,
} from '../support/fleets/fleet.ts'
import { type TestContext, createTestContext } from '../support/servers/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'

/** Devices need not stay connected for a while to count as upgraded. */
export const options: RolloutOptions = { ...defaultRolloutOptions, soakMs: 0 }

/** An organization whose devices the engine upgrades, in a separate database per test. */
export interface Rollout {
  readonly ctx: Context
  readonly clock: TestClock
  /** For processes that use the same database. */
  readonly connection: TestConnection
  /** The last seeded organization. */
  readonly org: SeededOrg
  readonly fleet: Fleet
  /** Adds sites; a number means a site with that many devices. By default the devices are online. */
  readonly seed: (sites: readonly (number | SiteSeed)[], how?: { readonly online?: boolean }) => Promise<SeededDevice[]>
  /** The devices of one site, or of all. */
  readonly devices: (site?: number) => SeededDevice[]
  /** Creates an upgrade, of all sites by default. */
  readonly create: (body?: OrgUpgradeBody) => Promise<OrgUpgrade>
  readonly read: (id: string) => Promise<OrgUpgrade>
  /** A round of the engine, a moment later: of all upgrades in flight, or where the devices that have changed are given. */
  readonly advance: (changed?: readonly string[]) => Promise<void>
  /** Rounds of engine and fleet until nothing is sent any more, with a second between them. */
  readonly play: (reply?: (device: SeededDevice, attempt: number) => Reply) => Promise<void>
}

interface Seeded {
  readonly org: SeededOrg
  readonly fleet: Fleet
}

/**
 * Sets up a rollout for each test of the file.
 * @param carries True: the engine and the gateway are one process, so commands to connected devices are committed as sent.
 */
export function useRollout({ carries = false } = {}): Rollout {
  let clock: TestClock
  let test: TestContext
  let seeded: Seeded | null = null
  beforeEach(async () => {
    clock = createTestClock()
    test = await createTestContext(clock)
    seeded = null
  })
  afterEach(() => test.close())

  const current = (): Seeded => {
    if (seeded === null) throw new Error('nothing is seeded yet')
    return seeded
  }
  const rollout: Rollout = {
    get ctx() {
      return test.ctx
    },
    get clock() {
      return clock
    },
    get connection() {
      return test.database.connection
    },
    get org() {
      return current().org
    },
    get fleet() {
      return current().fleet
    },
    async seed(sites, { online = true } = {}) {
      const seeds = sites.map((site) => (typeof site === 'number' ? { devices: site } : site))
      const org = await seedOrg(test.ctx, seeds)
      seeded = { org, fleet: createFleet(test.ctx, [org]) }
      const all = rollout.devices()
      if (online) await seeded.fleet.connect(all)
      return all
    },
    devices: (site) =>
      current().org.sites.flatMap(({ devices }, index) => (site === undefined || site === index ? devices : [])),
    create: (body = {}) =>
      createOrgUpgrade(test.ctx, current().org.scope, parseOrgUpgrade({ all_sites: true, ...body })),
    read: (id) => getOrgUpgrade(test.ctx.db, current().org.scope, id),
    async advance(changed) {
      // A woken worker runs later than the round before.
      clock.advance(1)
      const how = carries ? { ...options, gatewayNode: () => current().fleet.nodeId } : options
      await advanceRollouts(test.ctx, how, new AbortController().signal, changed)
    },
    async play(reply) {
      for (let quiet = 0; quiet < 3;) {
        await rollout.advance()
        quiet = (await current().fleet.answer(reply)) === 0 ? quiet + 1 : 0
        clock.advance(1000)
      }
      await rollout.advance()
    },
  }
  return rollout
}

/** Returns the number of targets in each state, at one site. */
export function countOf({ siteUpgrades }: OrgUpgrade, site = 0): Record<string, number> {
  const targets = siteUpgrades[site]?.targets ?? {}
  return Object.fromEntries(Object.entries(targets).map(([state, macs]) => [state, macs.length]))
}

/** The same, at all sites together. */
export function countAll(upgrade: OrgUpgrade): Record<string, number> {
  const sums = new Map<string, number>()
  for (const index of upgrade.siteUpgrades.keys())
    for (const [state, count] of Object.entries(countOf(upgrade, index)))
      sums.set(state, (sums.get(state) ?? 0) + count)
  return Object.fromEntries(sums)
}

export function statusOf({ siteUpgrades }: OrgUpgrade): string[] {
  return siteUpgrades.map(({ status }) => status)
}
