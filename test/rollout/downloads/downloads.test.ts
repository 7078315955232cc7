// Phases of the downloads, apart from those of the reboots, as the engine carries them out.
import { describe, expect, it } from 'vitest'
import { listHeldUpgrades } from '../../../src/upgrades/alarms/store.ts'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { readReport } from '../../../src/upgrades/reports/read-report.ts'
import { getReported } from '../../../src/upgrades/reports/store.ts'
import { presentSummary } from '../../../src/upgrades/reports/wire.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import type { Reply, SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()

const twoSteps = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const
const switches = (devices: number) => ({ devices, type: 'switch', model: 'EX4100', capabilities: twoSteps }) as const

/** Downloads, and then reboots. */
const asTold = (_: SeededDevice, attempt: number): Reply => (attempt === 1 ? 'does' : 'upgrades')

/** Returns the commands so far, in the order of their creation: the kind, and the phases of the device. */
async function commands(): Promise<string[]> {
  const rows = await rollout.ctx.db
    .selectFrom('deviceCommand as command')
    .innerJoin('upgradeTarget as target', (on) => on.onRef('target.deviceId', '=', 'command.deviceId'))
    .select(['command.kind', 'target.phase', 'target.downloadPhase'])
    .orderBy('command.createdAt')
    .orderBy('command.kind')
    .orderBy('target.downloadPhase')
    .orderBy('target.phase')
    .execute()
  return rows.map(({ kind, phase, downloadPhase }) => `${kind} ${downloadPhase ?? '-'}/${phase}`)
}

async function play(reply = asTold): Promise<void> {
  await rollout.play(reply)
  await expectConsistent(rollout.ctx)
}

describe('downloads in phases of the whole upgrade', () => {
  it('run phase by phase over all sites, and each site reboots once it has all its images', async () => {
    await rollout.seed([switches(2), switches(2)])
    const body: OrgUpgradeBody = { download_strategy: 'canary', reboot_strategy: 'big_bang', canary_phases: [25, 50] }
    const { id } = await rollout.create(body)
    await rollout.advance()
    expect(await commands()).toEqual(['stage 1/1'])
    await play()
    const all = await commands()
    expect(all.filter((one) => one.startsWith('stage'))).toEqual(['stage 1/1', 'stage 2/1', 'stage 3/1', 'stage 3/1'])
    expect(all.slice(-2)).toEqual(['activate 3/1', 'activate 3/1'])
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
    expect([...rollout.fleet.flashes.values()]).toEqual([1, 1, 1, 1])
  })

  it('wait at the gate of a phase whose devices could not download, and go on when somebody resumes', async () => {
    await rollout.seed([switches(4)])
    const { id } = await rollout.create({
      download_strategy: 'canary',
      canary_phases: [25],
      max_failure_percentage: 30,
    })
    await play((device, attempt) => (device.id === canary() ? 'refuses_content' : asTold(device, attempt)))
    const { siteUpgrades } = await rollout.read(id)
    const reason = '1 of 1 devices of download phase 1 failed, more than 30 %'
    expect(siteUpgrades).toMatchObject([{ hold: { by: 'gate', of: 'downloads', reason } }])
    expect(await commands()).toEqual(['stage 1/1'])
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect((await rollout.read(id)).approvals).toMatchObject([{ phase: 1, of: 'downloads', by: 'resume' }])
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 3, failed: 1 })
    // A retry downloads in a phase that is open, and the failure is forgiven.
    await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
    await expectConsistent(rollout.ctx)
    await play((_, attempt) => (attempt === 2 ? 'does' : 'upgrades'))
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
    const { downloads } = await rollout.ctx.db.selectFrom('orgUpgrade').select('downloads').executeTakeFirstOrThrow()
    expect(downloads).toMatchObject({ current: 2, failures: { 1: 0 }, downloaded: { 1: 1, 2: 3 } })
  })

  it('stop the upgrade where more devices of a phase fail than max_failures allows', async () => {
    await rollout.seed([switches(4)])
    const limits = { canary_phases: [25, 100], max_failures: [0, 4] }
    const { id } = await rollout.create({ download_strategy: 'canary', ...limits })
    await play(() => 'refuses_content')
    expect((await rollout.read(id)).siteUpgrades).toMatchObject([
      { status: 'failed', stopReason: 'more than 0 failures in download phase 1' },
    ])
    expect(countAll(await rollout.read(id))).toEqual({ failed: 1, cancelled: 3 })
  })
})

describe('a retry after the end of an upgrade', () => {
  const holds = async (id: string) => (await rollout.read(id)).siteUpgrades.map(({ hold }) => hold?.by ?? null)

  it('waits for the approval of a phase', async () => {
    await rollout.seed([switches(2), switches(2)])
    const { ctx, org } = rollout
    const tolerant = { download_strategy: 'big_bang', reboot_strategy: 'canary', max_failure_percentage: 100 } as const
    const gates = [{ phase: 1, wait_for: 'approval' as const }]
    const { id } = await rollout.create({ ...tolerant, canary_phases: [25], phase_gates: gates })
    const rows = await ctx.db.selectFrom('upgradeTarget').select(['deviceId', 'phase']).execute()
    const later = new Set(rows.filter(({ phase }) => phase === 2).map(({ deviceId }) => deviceId))
    await play((device, attempt) => (later.has(device.id) ? 'refuses_content' : asTold(device, attempt)))
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 1, failed: 3 })
    // All sites have ended, so nothing waits.
    const events = await ctx.db.selectFrom('upgradeEvent').select('event').execute()
    expect(events.filter(({ event }) => event.type === 'UPGRADE_HELD')).toEqual([])
    await retryOrgUpgrade(ctx, org.scope, { id, macs: null })
    await play((_, attempt) => (attempt % 2 === 0 ? 'does' : 'upgrades'))
    expect(await commands()).not.toContain('activate -/2')
    expect(await holds(id)).toEqual(['approval', 'approval'])
    const { summary } = await readReport(ctx.db, org.scope, await getReported(ctx.db, org.scope, id))
    expect(presentSummary(summary).phases).toMatchObject([{ gate: { passed: false } }, {}])
    await approveOrgUpgrade(ctx, org.scope, { id, phase: 1, note: null })
    await play((_, attempt) => (attempt % 2 === 0 ? 'does' : 'upgrades'))
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
  })
})

/** Returns the device of the first command. */
function canary(): string {
  const [first = ''] = rollout.fleet.attempts.keys()
  return first
}

describe('what people and programs hear of phases of the downloads', () => {
  const events = async (id: string) => {
    const query = rollout.ctx.db.selectFrom('upgradeEvent').select('event').where('orgUpgradeId', '=', id)
    const rows = await query.orderBy('id').execute()
    return rows.flatMap(({ event: { type, phase, phase_of: of, total } }) =>
      phase === undefined ? [] : [`${type} ${of ?? 'reboots'} ${phase}${total === undefined ? '' : ` of ${total}`}`],
    )
  }

  it('names them, in events and in the report, and a person approves one of them before devices of the next begin', async () => {
    await rollout.seed([switches(2), switches(2)])
    const gates = [{ phase: 1, wait_for: 'approval' as const }]
    const { id } = await rollout.create({ download_strategy: 'canary', canary_phases: [25], phase_gates: gates })
    await play()
    const { ctx, org } = rollout
    const { siteUpgrades } = await rollout.read(id)
    const reason = 'download phase 1 ended and waits for an approval'
    expect(siteUpgrades).toMatchObject([{ hold: { by: 'approval', of: 'downloads', reason } }, { hold: { reason } }])
    expect((await listHeldUpgrades(ctx.db)).map((one) => one.reason)).toEqual([reason])
    expect(ctx.metrics.encode([])).toContain('signalbox_upgrade_holds_total{by="approval"} 1\n')
    const approval = { id, phase: 1, note: null }
    await expect(approveOrgUpgrade(ctx, org.scope, approval)).rejects.toThrow(
      'Invalid field phase_of: is reboots, but download phase 1 waits for an approval',
    )
    await expect(resumeOrgUpgrade(ctx, org.scope, id)).rejects.toThrow("can't be resumed")
    await approveOrgUpgrade(ctx, org.scope, { ...approval, of: 'downloads', note: 'All have room' })
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
    expect((await rollout.read(id)).approvals).toMatchObject([{ phase: 1, of: 'downloads', by: 'approval' }])
    const [start] = await events(id)
    expect((await events(id)).filter((one) => one !== start)).toEqual([
      'UPGRADE_HELD downloads 1',
      'UPGRADE_APPROVED downloads 1',
      'UPGRADE_PHASE_OPENED downloads 2 of 3',
    ])
    const { summary } = await readReport(ctx.db, org.scope, await getReported(ctx.db, org.scope, id))
    const report = presentSummary(summary)
    expect(report.downloads).toMatchObject([
      {
        ...{ phase: 1, total: 1, downloaded: 1, failed: 0, opened_at: expect.any(Number) },
        gate: {
          wait_for: 'approval',
          passed: true,
          opened_by: { by: 'approval', name: org.scope.actor.name, note: 'All have room' },
        },
      },
      { phase: 2, total: 3, downloaded: 3, failed: 0, opened_at: expect.any(Number) },
    ])
    expect(report.decisions).toMatchObject([{}, {}, { type: 'UPGRADE_APPROVED', phase: 1, phase_of: 'downloads' }])
  })

  it('names the phase of a site that is held, and the phase at which somebody resumes all sites', async () => {
    await rollout.seed([switches(4)])
    const limits = { canary_phases: [25], max_failure_percentage: 30 }
    const { id } = await rollout.create({ download_strategy: 'canary', phase_scope: 'site', ...limits })
    await play((device, attempt) => (device.id === canary() ? 'refuses_content' : asTold(device, attempt)))
    expect((await events(id)).slice(1)).toEqual(['UPGRADE_HELD downloads 1'])
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect((await events(id)).slice(2)).toEqual(['UPGRADE_PHASE_OPENED downloads 2 of 3'])
    expect((await rollout.read(id)).approvals).toEqual([])
  })
})

describe('downloads in phases of each site', () => {
  it('go one by one with serial, also in rounds that read only the changed devices', async () => {
    const devices = await rollout.seed([switches(3)])
    const { id } = await rollout.create({ download_strategy: 'serial', reboot_strategy: 'canary', canary_phases: [30] })
    const ids = devices.map((device) => device.id)
    for (let rounds = 0; rounds < 40; rounds += 1) {
      await rollout.advance(ids)
      await rollout.fleet.answer(asTold)
      await expectConsistent(rollout.ctx)
      rollout.clock.advance(1000)
    }
    const all = await commands()
    const places = (kind: string) => all.flatMap((one, place) => (one.startsWith(kind) ? [place] : []))
    expect(all.filter((one) => one.startsWith('stage'))).toEqual(['stage 1/1', 'stage 2/2', 'stage 3/2'])
    expect(all.filter((one) => one.startsWith('activate'))).toEqual(['activate 1/1', 'activate 2/2', 'activate 3/2'])
    // The first phase of the reboots does not wait for the downloads of the second one.
    expect(Math.min(...places('activate'))).toBeLessThan(Math.max(...places('stage')))
    expect(statusOf(await rollout.read(id))).toEqual(['completed'])
  })

  it('are not held up by an absent device, which downloads and reboots when it is back', async () => {
    const [first, ...others] = await rollout.seed([switches(3)], { online: false })
    await rollout.fleet.connect(others)
    const { id } = await rollout.create({ download_strategy: 'serial', reboot_strategy: 'big_bang' })
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2, deferred: 1 })
    if (first !== undefined) await rollout.fleet.connect([first])
    await play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 3 })
  })

  it('are all of them at once by default, while the reboots have their phases', async () => {
    await rollout.seed([switches(4)])
    const { id } = await rollout.create({ reboot_strategy: 'canary', canary_phases: [25] })
    await rollout.advance()
    expect(await commands()).toEqual(['stage 1/1', 'stage 1/2', 'stage 1/2', 'stage 1/2'])
    await play()
    expect(statusOf(await rollout.read(id))).toEqual(['completed'])
  })
})

it('puts devices that download and reboot in one step into the phases of the reboots, and says so', async () => {
  await rollout.seed([switches(2), 2])
  const { id, notes } = await rollout.create({ download_strategy: 'serial', reboot_strategy: 'canary' })
  const reason = '2 of the 4 devices download and reboot in one step, in the phases of the reboot_strategy canary'
  expect(notes).toEqual([{ reason }])
  await play((device, attempt) => (device.type === 'ap' ? 'upgrades' : asTold(device, attempt)))
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
})

it('runs the downloads of canary phases ahead of reboots that begin later', async () => {
  await rollout.seed([switches(4)])
  const rebootAt = Math.floor(rollout.clock.now().getTime() / 1000) + 3600
  const { id } = await rollout.create({ strategy: 'canary', canary_phases: [25], reboot_at: rebootAt })
  await play()
  expect(countAll(await rollout.read(id))).toEqual({ downloaded: 4 })
  rollout.clock.advance(3600e3)
  await play()
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 4 })
})
