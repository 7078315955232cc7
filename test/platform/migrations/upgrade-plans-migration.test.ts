import type pg from 'pg'
import { expect, test } from 'vitest'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { openFormerDatabase } from '../../support/database/former-database.ts'

const ORG = '00000000-0000-0000-0000-000000000001'
const id = (number: number): string => `00000000-0000-0000-0000-${String(number).padStart(12, '0')}`

interface FormerUpgrade {
  readonly id: string
  readonly percent: number | null
  readonly phasePlan: unknown
  readonly plan: Readonly<Record<string, unknown>>
}

async function insertFormerUpgrade(client: pg.Client, { id, percent, phasePlan, plan }: FormerUpgrade): Promise<void> {
  await client.query(
    `insert into org_upgrade (org_id, id, request, strategy, target_version, force, enable_p2p, max_failure_percentage,
       planned, created_at, phase_plan)
     values ($1, $2, '{}', 'canary', '2', false, false, $3, 3, now(), $4)`,
    [ORG, id, percent, phasePlan && JSON.stringify(phasePlan)],
  )
  await client.query(
    `insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts, total,
       created_at)
     values ($1, $2, $2, $2, 'downloading', now(), now(), $3, '{"planned": 3}', 3, now())`,
    [ORG, id, JSON.stringify({ timezone: 'UTC', planned: 3, max_failure_percentage: percent, ...plan })],
  )
}

test('plans of upgrades that go on keep their limits as gates', async () => {
  const { client, connection } = await openFormerDatabase('0032', ORG)
  const canary = { strategy: 'canary', phases: 2, canary_phases: [50, 100], phase_sizes: [1, 2] }
  const other = { canary_phases: null, phase_sizes: null, max_failures: null, phase_scope: 'site' }
  const none = { max_failures: null, phase_scope: 'site' }
  const sizes = { phase_sizes: [1, 2] }
  const limits = [0, 1]
  const former = [
    { percent: 5, phasePlan: { ...sizes, max_failures: null }, plan: { ...canary, ...none, phase_scope: 'org' } },
    {
      percent: null,
      phasePlan: { ...sizes, max_failures: limits },
      plan: { ...canary, phase_scope: 'org', max_failures: limits },
    },
    { percent: 7, phasePlan: null, plan: { ...canary, ...none } },
    { percent: null, phasePlan: null, plan: { ...canary, ...none, max_failures: limits } },
    { percent: 5, phasePlan: null, plan: { ...other, strategy: 'serial', phases: 3 } },
    { percent: null, phasePlan: null, plan: { ...other, strategy: 'big_bang', phases: 1 } },
  ]
  for (const [index, upgrade] of former.entries()) await insertFormerUpgrade(client, { id: id(index), ...upgrade })

  await migrate(connection)
  const { rows } = await client.query<{
    plan: Readonly<Record<string, unknown>>
    counts: unknown
    phase_plan: unknown
  }>(
    `select part.plan, part.counts, org_upgrade.phase_plan from org_upgrade join site_upgrade part using (org_id, id) order by id`,
  )
  const tolerating = (percent: number) => ({ max_failures: null, max_failure_percentage: percent, min_upgraded: 1 })
  const limited = limits.map((limit) => ({ max_failures: limit, max_failure_percentage: null, min_upgraded: 0 }))
  expect(rows.map(({ plan, phase_plan: whole }) => ({ gates: plan['gates'], whole }))).toEqual([
    { gates: null, whole: { ...sizes, gates: [tolerating(5), tolerating(5)] } },
    { gates: null, whole: { ...sizes, gates: limited } },
    { gates: [tolerating(7), tolerating(7)], whole: null },
    { gates: limited, whole: null },
    { gates: null, whole: null },
    { gates: null, whole: null },
  ])
  for (const { plan, counts } of rows) {
    expect(plan['stages']).toBe(false)
    expect(counts).toEqual({
      planned: 3,
      downloaded: 0,
      staged: 0,
      snapshotting: 0,
      reboot_requested: 0,
      rolling_back: 0,
    })
    expect(plan).not.toHaveProperty('canary_phases')
    expect(plan).not.toHaveProperty('max_failures')
  }
})
