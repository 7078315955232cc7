import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { json } from '../../src/platform/db.ts'
import { type RolloutOptions, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { claimSiteUpgrades } from '../../src/rollout/store.ts'
import { advanceSiteUpgrades, advanceRollouts } from '../../src/rollout/worker.ts'
import { createOrgUpgrade } from '../../src/upgrades/create-org-upgrade.ts'
import { getOrgUpgrade } from '../../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../../src/upgrades/wire-parse.ts'
import type { OrgUpgradeBody } from '../../src/upgrades/wire.ts'
import { type Fleet, type SeededOrg, createFleet, seedOrg } from '../support/fleet.ts'
import { type TestContext, createTestContext } from '../support/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { expectConsistent } from './expect-consistent.ts'

const options: RolloutOptions = { ...defaultRolloutOptions, soakMs: 0 }
/** As long as a worker may hold what it claimed. */
const LEASE_MS = 10_000

let clock: TestClock
let test: TestContext
beforeEach(async () => {
  clock = createTestClock()
  test = await createTestContext(clock)
})
afterEach(() => test.close())

async function seed(sites: readonly number[]): Promise<{ org: SeededOrg; fleet: Fleet }> {
  const org = await seedOrg(
    test.ctx,
    sites.map((devices) => ({ devices })),
  )
  const fleet = createFleet(test.ctx, [org])
  await fleet.connect(org.sites.flatMap((site) => site.devices))
  return { org, fleet }
}

const advance = () => advanceRollouts(test.ctx, options, new AbortController().signal)
/** One round only. @returns Whether it failed. */
async function advanceOnce(): Promise<boolean> {
  const nowMs = clock.now().getTime()
  const leaseUntilMs = nowMs + LEASE_MS
  const claims = await claimSiteUpgrades(test.ctx.db, {
    nowMs,
    dueBeforeMs: leaseUntilMs,
    changed: [],
    seen: [],
    leaseUntilMs,
    limit: 10,
  })
  return advanceSiteUpgrades(test.ctx, claims, options).then(
    () => false,
    () => true,
  )
}
const create = ({ scope }: SeededOrg, more: OrgUpgradeBody = {}) =>
  createOrgUpgrade(
    test.ctx,
    scope,
    parseOrgUpgrade({ all_sites: true, reboot_strategy: 'canary', canary_phases: [50], ...more }),
  )

/** From now on, the first write to `table` kills the connection that it is on. */
async function killAtWriteTo(table: string): Promise<void> {
  await sql`
    create function kill_connection() returns trigger language plpgsql as $$
      begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return new; end $$
  `.execute(test.ctx.db)
  await sql`create trigger kill_connection before insert or update or delete on ${sql.table(table)}
    for each statement execute function kill_connection()`.execute(test.ctx.db)
}

async function killNoMore(): Promise<void> {
  await sql`drop function if exists kill_connection() cascade`.execute(test.ctx.db)
}

it.each(['org_upgrade', 'upgrade_target', 'device_command', 'device_status', 'device_event', 'active_upgrade_target'])(
  'a round that dies at its write to %s has changed nothing, and is made up for',
  async (table) => {
    const { org, fleet } = await seed([4])
    const { id } = await create(org)
    const stateOf = async () => JSON.stringify(await getOrgUpgrade(test.ctx.db, org.scope, id))
    let kills = 0
    for (let round = 0; round < 12; round += 1) {
      const before = await stateOf()
      await killAtWriteTo(table)
      const died = await advanceOnce()
      await killNoMore()
      if (died) {
        kills += 1
        expect(await stateOf()).toBe(before)
      }
      await expectConsistent(test.ctx)
      clock.advance(LEASE_MS)
      await advance()
      await expectConsistent(test.ctx)
      await fleet.answer()
      clock.advance(1000)
    }
    expect(kills).toBeGreaterThan(0)
    const upgrade = await getOrgUpgrade(test.ctx.db, org.scope, id)
    expect(upgrade.siteUpgrades.map(({ status }) => status)).toEqual(['completed'])
    expect([...fleet.attempts.values()]).toEqual([1, 1, 1, 1])
  },
  30_000,
)

it('a broken site upgrade holds up no other of its organization', async () => {
  const { org, fleet } = await seed([2, 2, 2])
  const upgrade = await create(org, { phase_scope: 'site' })
  const [, broken] = upgrade.siteUpgrades
  const { plan } = await test.ctx.db
    .selectFrom('siteUpgrade')
    .select('plan')
    .where('id', '=', broken?.id ?? '')
    .executeTakeFirstOrThrow()
  const save = (text: string) =>
    test.ctx.db
      .updateTable('siteUpgrade')
      .set({ plan: text })
      .where('id', '=', broken?.id ?? '')
      .execute()
  const play = async () => {
    for (let round = 0; round < 8; round += 1) {
      await advance()
      await fleet.answer()
      clock.advance(1000)
    }
    return (await getOrgUpgrade(test.ctx.db, org.scope, upgrade.id)).siteUpgrades.map(({ status }) => status)
  }
  await save('null')
  expect(await play()).toEqual(['completed', 'queued', 'completed'])
  await save(json(plan))
  clock.advance(LEASE_MS)
  expect(await play()).toEqual(['completed', 'completed', 'completed'])
  await expectConsistent(test.ctx)
})
