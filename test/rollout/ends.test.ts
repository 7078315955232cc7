import { beforeEach, expect, it } from 'vitest'
import { endUpgrades } from '../../src/rollout/stops/end-upgrades.worker.ts'
import { pauseOrgUpgrade } from '../../src/upgrades/changes/pause-org-upgrade.ts'
import { retryOrgUpgrade } from '../../src/upgrades/changes/retry-org-upgrade.ts'
import { getOverview } from '../../src/upgrades/overview/store.ts'
import { presentOverview } from '../../src/upgrades/overview/wire.ts'
import { readReport } from '../../src/upgrades/reports/read-report.ts'
import { getReported } from '../../src/upgrades/reports/store.ts'
import { presentSummary } from '../../src/upgrades/reports/wire.ts'
import { type OrgUpgradeBody, presentOrgUpgrade } from '../../src/upgrades/wire.ts'
import { permitRows, refuseRow } from '../support/database/refuse-row.ts'
import { expectConsistent } from './expect-consistent.ts'
import { countAll, statusOf, useRollout } from './harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([4]))

const HOUR_MS = 3600e3
const reason = 'ended at its end_time, 2026-03-01T13:00:00.000Z'

async function create(body: OrgUpgradeBody = {}): Promise<string> {
  const endTime = (rollout.clock.now().getTime() + HOUR_MS) / 1000
  return (await rollout.create({ end_time: endTime, ...body })).id
}

async function end(): Promise<void> {
  await endUpgrades(rollout.ctx)
  await rollout.play()
  await expectConsistent(rollout.ctx)
}

async function read(id: string) {
  const upgrade = await rollout.read(id)
  const [site] = upgrade.siteUpgrades
  return { status: statusOf(upgrade), counts: countAll(upgrade), reason: site?.stopReason, hold: site?.hold }
}

/** The types of the events of the upgrade as a whole. */
async function eventsOf(id: string): Promise<string[]> {
  const rows = rollout.ctx.db.selectFrom('upgradeEvent').select('event').where('orgUpgradeId', '=', id).orderBy('id')
  return (await rows.execute()).map(({ event }) => event.type)
}

it('from its end on an upgrade begins no device, and devices that install the version finish', async () => {
  const id = await create({ strategy: 'serial' })
  await rollout.advance()
  // The first device restarts with the version.
  await rollout.fleet.answer()
  rollout.clock.advance(HOUR_MS)
  await rollout.advance()
  // The engine begins nothing although nothing has stopped the upgrade yet, such as after an outage of the service.
  expect((await read(id)).counts).toMatchObject({ planned: 3 })
  await rollout.play()
  expect(await read(id)).toMatchObject({ status: ['upgrading'], counts: { upgraded: 1, planned: 3 } })
  await end()
  expect(await read(id)).toEqual({ status: ['cancelled'], counts: { upgraded: 1, cancelled: 3 }, reason, hold: null })
  expect(await eventsOf(id)).toContain('UPGRADE_END_REACHED')
  // The next round looks for ends to come only.
  const due = rollout.ctx.db.selectFrom('orgUpgrade').select('endsAt').where('id', '=', id)
  expect(await due.executeTakeFirstOrThrow()).toEqual({ endsAt: null })
})

it('a device that has only downloaded the version by the end does not restart', async () => {
  const commands = ['stage', 'activate'] as const
  const capabilities = { commands: [...commands], restart_members: [], restart_nodes: [] }
  await rollout.seed([{ devices: 2, type: 'switch', model: 'EX4100', capabilities }])
  const gate = { phase: 1, wait_for: 'approval' as const }
  const id = await create({ reboot_strategy: 'canary', canary_phases: [50], phase_gates: [gate] })
  await rollout.play((_, attempt) => (attempt === 1 ? 'does' : 'upgrades'))
  expect(await read(id)).toMatchObject({ counts: { upgraded: 1, downloaded: 1 }, hold: { by: 'approval' } })
  rollout.clock.advance(HOUR_MS)
  await end()
  expect(await read(id)).toEqual({ status: ['cancelled'], counts: { upgraded: 1, cancelled: 1 }, reason, hold: null })
})

it('a command that the gateway has not sent by the end is never sent', async () => {
  await create()
  await rollout.advance()
  const commands = await rollout.ctx.db.selectFrom('deviceCommand').select('expiresAt').execute()
  expect(commands).toHaveLength(4)
  for (const { expiresAt } of commands) expect(expiresAt).toEqual(new Date('2026-03-01T13:00:00Z'))
})

it('an upgrade whose devices all finish after its end has its results, and no reason of a stop', async () => {
  await rollout.seed([2, 1])
  const id = await create({ strategy: 'big_bang' })
  await rollout.advance()
  await rollout.fleet.answer()
  rollout.clock.advance(HOUR_MS)
  await endUpgrades(rollout.ctx)
  const { ctx, org } = rollout
  const look = async () => {
    const summary = presentSummary(
      (await readReport(ctx.db, org.scope, await getReported(ctx.db, org.scope, id))).summary,
    )
    const { upgrades } = presentOrgUpgrade(await rollout.read(id))
    return {
      overview: presentOverview(await getOverview(ctx.db, org.scope, { id, at: rollout.clock.now() })),
      report: { ...summary, reasons: summary.sites.map((site) => site.reason) },
      reasons: upgrades.map(({ upgrade }) => upgrade.stop_reason),
    }
  }
  expect(await look()).toMatchObject({
    overview: { status: 'running', stop_reason: reason },
    report: { status: 'running', reasons: [reason, reason] },
    reasons: [reason, reason],
  })
  await end()
  const ended = await look()
  expect(ended).toMatchObject({
    overview: { status: 'completed', counts: { success: 3, total: 3 } },
    report: { status: 'completed', upgraded: 3, reasons: [undefined, undefined] },
    reasons: [undefined, undefined],
  })
  expect(ended.overview).not.toHaveProperty('stop_reason')
  expect(ended.report.decisions.map(({ type, reason: why }) => [type, why])).toEqual([
    ['UPGRADE_CREATED', undefined],
    ['UPGRADE_END_REACHED', reason],
  ])
  expect((await eventsOf(id)).slice(-3)).toEqual(['UPGRADE_SITE_ENDED', 'UPGRADE_SITE_ENDED', 'UPGRADE_ENDED'])
})

it('an upgrade that cannot be ended delays no later end, and is tried again after a pause', async () => {
  const ids = [await create(), await create({ end_time: rollout.clock.now().getTime() / 1000 + 3601, supersede: true })]
  await refuseRow(rollout.ctx, { table: 'org_upgrade', on: 'update', column: 'id', value: String(ids[0]) })
  rollout.clock.advance(HOUR_MS + 1000)
  const ends = { restingUntilMs: new Map<string, number>(), maxAtOnce: 1 }
  const due = rollout.ctx.db.selectFrom('orgUpgrade').select('id').where('endsAt', 'is not', null)
  // The first round fails, and the second one gets past the failure.
  for (const left of [ids, [ids[0]]]) {
    expect(await endUpgrades(rollout.ctx, ends)).toBe(true)
    expect((await due.orderBy('endsAt').execute()).map(({ id }) => id)).toEqual(left)
  }
  await permitRows(rollout.ctx, 'org_upgrade')
  expect(await endUpgrades(rollout.ctx, ends)).toBe(false)
  rollout.clock.advance(10_000)
  await endUpgrades(rollout.ctx, ends)
  expect(await due.execute()).toEqual([])
})

it('an upgrade does not end before, and one that has finished keeps its status', async () => {
  const id = await create()
  rollout.clock.advance(HOUR_MS - 30_000)
  await endUpgrades(rollout.ctx)
  await rollout.play()
  expect(await read(id)).toMatchObject({ status: ['completed'], counts: { upgraded: 4 } })
  rollout.clock.advance(HOUR_MS)
  await end()
  expect(await read(id)).toMatchObject({ status: ['completed'], counts: { upgraded: 4 }, reason: null })
  expect(await eventsOf(id)).not.toContain('UPGRADE_END_REACHED')
})

it.each([
  ['an approval', { phase_gates: [{ phase: 0, wait_for: 'approval' as const }] }],
  ['its window', { maintenance_windows: [{ start: '12:30', end: '12:50' }] }],
  ['its start', { start_time: Date.UTC(2026, 2, 1, 12, 59) / 1000 }],
])('the end of an upgrade that waits for %s', async (_, body) => {
  const id = await create(body)
  await rollout.advance()
  rollout.clock.advance(HOUR_MS)
  await end()
  expect(await read(id)).toEqual({ status: ['cancelled'], counts: { cancelled: 4 }, reason, hold: null })
})

it('the end of a paused upgrade', async () => {
  const id = await create({ strategy: 'serial' })
  await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  rollout.clock.advance(HOUR_MS)
  await end()
  expect(await read(id)).toMatchObject({ status: ['cancelled'], counts: { cancelled: 4 }, reason, hold: null })
})

it('the end of an upgrade that only awaits devices of another one, which the audit log explains', async () => {
  await rollout.create({ start_time: Date.UTC(2026, 2, 2) / 1000 })
  const id = await create({ include_new: true })
  rollout.clock.advance(HOUR_MS)
  await end()
  expect(await read(id)).toMatchObject({ status: ['completed'], reason: null })
  const records = rollout.ctx.db.selectFrom('auditLog').select('message').where('message', 'like', 'Cancel%')
  expect(await records.execute()).toEqual([
    { message: `Cancel the search of upgrade ${id} for further devices: ${reason}` },
  ])
})

it('failed devices can be retried until the end', async () => {
  const id = await create({ strategy: 'big_bang' })
  const retry = () => retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await rollout.play(() => 'keeps_old')
  expect((await retry()).retried).toBe(4)
  await rollout.play(() => 'keeps_old')
  rollout.clock.advance(HOUR_MS)
  await expect(retry()).rejects.toThrow("The upgrade can't be retried: its end_time, 2026-03-01T13:00:00.000Z, is over")
  await end()
  expect(await read(id)).toMatchObject({ status: ['failed'], counts: { failed: 4 } })
})
