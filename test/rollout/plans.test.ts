import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { targetQuery } from '../../src/rollout/store.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { createOrgUpgrade } from '../../src/upgrades/create-org-upgrade.ts'
import { parseOrgUpgrade } from '../../src/upgrades/wire-parse.ts'
import { createFleet, seedOrg } from '../support/fleet.ts'
import { type TestContext, createTestContext } from '../support/server.ts'
import { createTestClock } from '../webhooks/harness.ts'

const DEVICES = 2000
const tables = [
  'device',
  'device_status',
  'device_session',
  'device_command',
  'firmware_download',
  'site_upgrade',
  'upgrade_target',
]

/** A node of a plan that has run. */
interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

/** The most rows that any node of the plan has looked at. */
function mostRows(node: PlanNode): number {
  const rows =
    node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)
  return Math.max(Math.round(rows * node['Actual Loops']), ...(node.Plans ?? []).map(mostRows))
}

/** Upgrades new devices, lets the engine command all of them, and reads them as its next round would. */
async function readTargetsOf({ ctx }: TestContext, devices: number): Promise<number> {
  const org = await seedOrg(ctx, [{ devices }])
  await createFleet(ctx, [org]).connect(org.sites.flatMap((site) => site.devices))
  const request = parseOrgUpgrade({ all_sites: true, strategy: 'big_bang' })
  const { siteUpgrades } = await createOrgUpgrade(ctx, org.scope, request)
  await advanceRollouts(ctx, defaultRolloutOptions, new AbortController().signal)
  const ids = siteUpgrades.map(({ id }) => id)
  const jobs = await ctx.db.selectFrom('siteUpgrade').selectAll().where('id', 'in', ids).execute()
  const limits = { unsentSinceMs: 0, stalledSinceMs: 0, absentSinceMs: 0 }
  const { rows } = await sql<{
    'QUERY PLAN': readonly [{ readonly Plan: PlanNode }]
  }>`explain (analyze, format json) ${targetQuery(org.scope, jobs, limits)}`.execute(ctx.db)
  const [explained] = rows
  if (explained === undefined) throw new Error('no plan')
  return mostRows(explained['QUERY PLAN'][0].Plan)
}

it('reads each row once, whatever PostgreSQL believes of the tables', { timeout: 60_000 }, async () => {
  const test = await createTestContext(createTestClock())
  onTestFinished(() => test.close())
  for (const table of tables)
    await sql`alter table ${sql.table(table)} set (autovacuum_enabled = off)`.execute(test.ctx.db)
  // Nothing; then that they are almost empty.
  expect(await readTargetsOf(test, DEVICES)).toBe(DEVICES)
  for (const table of tables) await sql`truncate ${sql.table(table)} cascade`.execute(test.ctx.db)
  await readTargetsOf(test, 1)
  await sql`analyze`.execute(test.ctx.db)
  expect(await readTargetsOf(test, DEVICES)).toBe(DEVICES)
})
