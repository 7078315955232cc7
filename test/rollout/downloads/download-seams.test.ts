// The interaction of the downloads' phases with windows, takeovers, and upgrades that began before such phases existed.
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { migrationsDir } from '../../../src/platform/database/migrate.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import type { Reply, SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()

const twoSteps = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const
const switches = (devices: number) => ({ devices, type: 'switch', model: 'EX4100', capabilities: twoSteps }) as const
const asTold = (_: SeededDevice, attempt: number): Reply => (attempt === 1 ? 'does' : 'upgrades')

/** Returns the hour of each command, in UTC, and its kind. */
async function hours(): Promise<string[]> {
  const query = rollout.ctx.db.selectFrom('deviceCommand').select(['kind', 'sentAt']).where('sentAt', 'is not', null)
  const rows = await query.orderBy('sentAt').orderBy('kind').execute()
  return rows.map(({ kind, sentAt }) => `${kind} ${sentAt?.toISOString().slice(0, 13)}`)
}

it('sites with different windows download phase by phase, each in its own, and reboot in those that follow', async () => {
  // It is noon, UTC: one site is open for an hour, and the other one has just closed.
  await rollout.seed([switches(1), { ...switches(2), timezone: 'Europe/Berlin' }])
  const [here, there] = rollout.org.sites
  const { id } = await rollout.create({
    download_strategy: 'canary',
    canary_groups: [{ site_ids: [here?.id ?? ''] }],
    maintenance_windows: [{ start: '12:00', end: '13:00' }],
  })
  await rollout.play(asTold)
  await expectConsistent(rollout.ctx)
  // The second phase of the downloads is open, and waits for the window of its site.
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 1, planned: 2 })
  for (const time of ['2026-03-01T14:00:00Z', '2026-03-02T11:00:00Z']) {
    rollout.clock.advance(new Date(time).getTime() - rollout.clock.now().getTime())
    await rollout.play(asTold)
  }
  await expectConsistent(rollout.ctx)
  expect(statusOf(await rollout.read(id))).toEqual(['completed', 'completed'])
  expect(there?.devices.map((device) => rollout.fleet.flashes.get(device.id))).toEqual([1, 1])
  const [today, tomorrow] = ['2026-03-01T12', '2026-03-02T11']
  expect(await hours()).toEqual([
    ...['stage', 'activate'].map((kind) => `${kind} ${today}`),
    ...['stage', 'stage', 'activate', 'activate'].map((kind) => `${kind} ${tomorrow}`),
  ])
})

it('a takeover empties phases of downloads, which then open at once, and keeps the order of restarts', async () => {
  await rollout.seed([switches(4)])
  const old = await rollout.create({ download_strategy: 'canary', canary_phases: [25, 50] })
  await rollout.advance()
  const young = await rollout.create({ download_strategy: 'serial', reboot_strategy: 'serial', supersede: true })
  await expectConsistent(rollout.ctx)
  expect([countAll(await rollout.read(old.id)), countAll(young)]).toEqual([
    { dl_requested: 1, cancelled: 3 },
    { planned: 3 },
  ])
  await rollout.play(asTold)
  await expectConsistent(rollout.ctx)
  const ends = [await rollout.read(old.id), await rollout.read(young.id)]
  expect(ends.map(countAll)).toEqual([{ upgraded: 1, cancelled: 3 }, { upgraded: 3 }])
  expect([...rollout.fleet.flashes.values()]).toEqual([1, 1, 1, 1])
})

/** Gives the rows of upgrades their former shape, and applies the migrations that changed it. */
async function migrateAgain(): Promise<void> {
  const { db } = rollout.ctx
  const numbers = new Set(['0109', '0110', '0111', '0114'])
  await sql`alter table upgrade_target drop column download_phase, drop column rank`.execute(db)
  await sql`alter table site_upgrade drop column downloads, drop column closed`.execute(db)
  await sql`alter table org_upgrade drop column download_plan, drop column downloads`.execute(db)
  await sql`update site_upgrade set counts = counts - 'rolling_back'`.execute(db)
  for (const name of (await readdir(migrationsDir)).toSorted())
    if (numbers.has(name.slice(0, 4))) await sql.raw(await readFile(join(migrationsDir, name), 'utf8')).execute(db)
}

it('an upgrade that an earlier version began continues, also through a pause and a retry', async () => {
  const [canary] = await rollout.seed([{ ...switches(4) }, 2])
  if (canary === undefined) throw new Error('no device')
  const { id } = await rollout.create({ strategy: 'canary', canary_phases: [50], max_failure_percentage: 60 })
  await rollout.advance()
  await rollout.fleet.answer((device, attempt) => (device.type === 'ap' ? 'upgrades' : asTold(device, attempt)))
  await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await migrateAgain()
  await expectConsistent(rollout.ctx)
  await rollout.advance()
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  const begun = new Set(rollout.fleet.attempts.keys())
  let failed = false
  await rollout.play((device, attempt) => {
    if (begun.has(device.id) || failed) return device.type === 'ap' ? 'upgrades' : asTold(device, attempt)
    failed = true
    return 'refuses_content'
  })
  await expectConsistent(rollout.ctx)
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 5, failed: 1 })
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await rollout.play((device, attempt) => (device.type === 'ap' || attempt > 2 ? 'upgrades' : 'does'))
  await expectConsistent(rollout.ctx)
  expect(statusOf(await rollout.read(id))).toEqual(['completed', 'completed'])
  expect([...rollout.fleet.flashes.values()]).toEqual([1, 1, 1, 1, 1, 1])
})
