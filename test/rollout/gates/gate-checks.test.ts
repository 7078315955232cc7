import { afterEach, beforeEach, expect, it } from 'vitest'
import { type OutboundHttp, createOutboundHttp } from '../../../src/platform/outbound/outbound-http.ts'
import { deviceUpgradeChecks } from '../../../src/rollout/gates/device-checks.ts'
import { createGateChecks } from '../../../src/rollout/gates/gate-checks.worker.ts'
import { followWallClock } from '../../../src/rollout/worker.ts'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { type CheckServer, startCheckServer } from '../../support/servers/check-server.ts'
import type { Reply } from '../../support/fleets/fleet.ts'
import { subscribe } from '../subscribe.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, useRollout } from '../harness.ts'

const rollout = useRollout()
let checks: CheckServer
let outbound: OutboundHttp
beforeEach(async () => {
  checks = await startCheckServer()
  outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: true })
  await rollout.seed([4, 4])
})
afterEach(async () => {
  await outbound.close()
  await checks.close()
})

async function createHeld(phases: OrgUpgradeBody = { canary_phases: [25, 100] }, gates = [1]): Promise<string> {
  const phase_gates = gates.map((phase) => ({ phase, wait_for: 'check' as const, url: checks.url }))
  const { id } = await rollout.create({ reboot_strategy: 'canary', ...phases, phase_gates })
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 6 }, hold: { by: 'check' } })
  return id
}

async function ask(http = outbound): Promise<void> {
  await Promise.all(await createGateChecks(rollout.ctx, http, deviceUpgradeChecks).begin(new AbortController().signal))
}

async function read(id: string) {
  const upgrade = await rollout.read(id)
  await expectConsistent(rollout.ctx)
  // A site that has ended is paused no more, and which site ends first depends on the ids.
  const query = rollout.ctx.db.selectFrom('orgUpgrade').select('hold').where('id', '=', id)
  const { hold } = await query.executeTakeFirstOrThrow()
  return { counts: countAll(upgrade), hold, approvals: upgrade.approvals }
}

it('the answer of the check opens the next phase at all sites, and the record shows it', async () => {
  checks.reply = { status: 200, body: { open: true, reason: 'loss is 0 %' } }
  const id = await createHeld()
  await ask()
  const { orgId } = rollout.org.scope
  expect(checks.asked).toEqual([{ org_id: orgId, upgrade_id: id, phase: 1, total: 2, upgraded: 2, failed: 0 }])
  await rollout.play()
  expect(await read(id)).toMatchObject({
    counts: { upgraded: 8 },
    approvals: [{ phase: 1, by: 'check', note: 'loss is 0 %' }],
  })
  await ask()
  expect(checks.asked).toHaveLength(1)
})

const MINUTE_MS = 60e3

/** Its second phase may not begin for an hour. */
async function createTimed(gate: Omit<PhaseGate, 'phase'>, reply?: () => Reply): Promise<string> {
  const notBefore = rollout.clock.now().getTime() / 1000 + 3600
  const phase_gates = [{ phase: 1, not_before: notBefore, ...gate }]
  const { id } = await rollout.create({ ...quarter, max_failure_percentage: 60, phase_gates })
  await rollout.play(reply)
  return id
}

const quarter: OrgUpgradeBody = { reboot_strategy: 'canary', canary_phases: [25, 100] }
type PhaseGate = NonNullable<OrgUpgradeBody['phase_gates']>[number]

async function passed(ms: number): Promise<void> {
  rollout.clock.advance(ms)
  await ask()
  await rollout.play()
}

const waiting = { counts: { upgraded: 2, planned: 6 }, hold: { by: 'time' } }

it('an approved phase waits for its instant', async () => {
  const id = await createTimed({ wait_for: 'approval' })
  expect(await read(id)).toMatchObject({ ...waiting, hold: { by: 'approval' } })
  await approveOrgUpgrade(rollout.ctx, rollout.org.scope, { id, phase: 1, note: null })
  await rollout.play()
  const reason = 'phase 1 ended and waits until 2026-03-01T13:00:00.000Z'
  expect(await read(id)).toMatchObject({ ...waiting, hold: { by: 'time', reason } })
  await passed(58 * MINUTE_MS)
  expect(await read(id)).toMatchObject(waiting)
  await passed(2 * MINUTE_MS)
  // The approval has opened it.
  expect(await read(id)).toMatchObject({ counts: { upgraded: 8 }, hold: null, approvals: [{ by: 'approval' }] })
})

it('a check is called at the instant of its gate', async () => {
  const id = await createTimed({ wait_for: 'check', url: checks.url })
  await passed(58 * MINUTE_MS)
  expect(await read(id)).toMatchObject(waiting)
  await passed(2 * MINUTE_MS)
  expect(await read(id)).toMatchObject({ ...waiting, hold: { by: 'check' } })
  expect(checks.asked).toEqual([])
  await passed(0)
  expect(await read(id)).toMatchObject({ counts: { upgraded: 8 }, approvals: [{ phase: 1, by: 'check' }] })
})

it('a person may open a phase before its instant, but not by resuming it after failures', async () => {
  const id = await createTimed({ wait_for: 'time', minutes: 30 }, () => 'keeps_old')
  expect((await read(id)).hold).toMatchObject({ by: 'gate' })
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await rollout.play()
  const { hold } = await read(id)
  expect(hold).toMatchObject({ by: 'time', not_before_s: Date.UTC(2026, 2, 1, 13) / 1000 })
  expect(hold?.wait_ms).toBeUndefined()
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { failed: 2, upgraded: 6 }, hold: null })
})

it('a gate waits for the later of its minutes and its instant, whatever the clock does', async () => {
  const id = await createTimed({ wait_for: 'time', minutes: 70 })
  const { ctx } = rollout
  const dueMs = async () => {
    const query = ctx.db.selectFrom('orgUpgrade').select('checkDueMs').where('id', '=', id)
    return (await query.executeTakeFirstOrThrow()).checkDueMs
  }
  const due = await dueMs()
  // A service that starts examines all waits again, as after a change of the clock.
  await followWallClock(ctx, null)
  expect(await dueMs()).toBe(ctx.serviceClock.nowMs())
  await passed(60 * MINUTE_MS)
  expect([await dueMs(), await read(id)]).toMatchObject([due, waiting])
  await passed(10 * MINUTE_MS)
  expect(await read(id)).toMatchObject({ counts: { upgraded: 8 }, approvals: [{ phase: 1, by: 'time' }] })
})

async function createWaiting(): Promise<string> {
  const phase_gates = [{ phase: 1, wait_for: 'time' as const, minutes: 30 }]
  const { id } = await rollout.create({ reboot_strategy: 'canary', canary_phases: [25, 100], phase_gates })
  await rollout.play()
  const reason = 'phase 1 ended and waits for 30 minutes'
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 6 }, hold: { by: 'time', reason } })
  return id
}

it('a gate by time opens the next phase when the time has passed since the end of its phase, and asks nobody', async () => {
  const id = await createWaiting()
  await subscribe(rollout)
  rollout.clock.advance(29 * 60e3)
  // Only the database has the wait, so it survives the death of the service.
  await rollout.fleet.crash(rollout.devices())
  await ask()
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 6 }, hold: { by: 'time' } })
  rollout.clock.advance(60e3)
  await ask()
  await rollout.play()
  expect(checks.asked).toEqual([])
  expect(await read(id)).toMatchObject({
    counts: { upgraded: 8 },
    hold: null,
    approvals: [{ phase: 1, by: 'time', admin_id: null }],
  })
  const events = rollout.ctx.db.selectFrom('upgradeEvent').select('event').where('orgUpgradeId', '=', id)
  expect((await events.execute()).map(({ event }) => event.type)).toContain('UPGRADE_WAIT_ENDED')
})

it('a person may end a wait for a time, and a pause in between begins it anew', async () => {
  const id = await createWaiting()
  const scope = rollout.org.scope
  rollout.clock.advance(29 * 60e3)
  await pauseOrgUpgrade(rollout.ctx, scope, id)
  rollout.clock.advance(60 * 60e3)
  await ask()
  expect(await read(id)).toMatchObject({ hold: { by: 'user' } })
  await resumeOrgUpgrade(rollout.ctx, scope, id)
  await rollout.play()
  await ask()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 6 }, hold: { by: 'time' } })
  await resumeOrgUpgrade(rollout.ctx, scope, id)
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 8 }, approvals: [{ phase: 1, by: 'resume' }] })
})

it('a check that says no leaves the upgrade to a person', async () => {
  checks.reply = { status: 200, body: { open: false, reason: 'loss is 4 %' } }
  const id = await createHeld()
  const waiting = (await read(id)).hold
  rollout.clock.advance(60e3)
  await ask()
  await rollout.play()
  rollout.clock.advance(3600e3)
  await ask()
  expect(checks.asked).toHaveLength(1)
  const { hold } = await read(id)
  expect(hold).toMatchObject({ by: 'gate', reason: 'the check says: loss is 4 %' })
  // Absent devices get the time of the check as well.
  expect(hold?.since_ms).toBe(waiting?.since_ms)
  expect(hold?.since_s).toBeGreaterThan(waiting?.since_s ?? Infinity)
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 8 }, approvals: [{ phase: 1, by: 'resume' }] })
})

it('a check that fails is asked again after growing pauses, also where the service died before it wrote the answer', async () => {
  checks.reply = { status: 503, body: {} }
  const id = await createHeld()
  await ask()
  await ask()
  expect(checks.asked).toHaveLength(1)
  // The reason for the wait says that the check does not decide.
  const reason = 'phase 1 ended and waits for its check, which gave the status 503 at attempt 1 of 7'
  expect(await read(id)).toMatchObject({ hold: { by: 'check', reason } })
  const paused = (await rollout.read(id)).siteUpgrades.flatMap(({ hold }) => (hold === null ? [] : [hold.reason]))
  expect(new Set(paused)).toEqual(new Set([reason]))
  rollout.clock.advance(5000)
  // The service dies after the question: nothing of the answer is written.
  const dying = { ...outbound, send: () => Promise.reject(new Error('killed')) }
  await ask(dying)
  rollout.clock.advance(30_000)
  await ask()
  expect(checks.asked).toHaveLength(1)
  checks.reply = { status: 200, body: { open: true } }
  rollout.clock.advance(30_000)
  await ask()
  await rollout.play()
  expect(checks.asked).toHaveLength(2)
  expect((await read(id)).counts).toEqual({ upgraded: 8 })
})

it('slow checks of one organization leave places to those of another, and to its own gates by time', async () => {
  await rollout.seed([2])
  await createAt(rollout.org.sites[0]?.id ?? '', 'check')
  await rollout.play()
  await rollout.seed(Array.from({ length: 7 }, () => 2))
  const [last, ...others] = rollout.org.sites
  for (const { id } of others) await createAt(id, 'check')
  const timed = await createAt(last?.id ?? '', 'time')
  await rollout.play()
  rollout.clock.advance(60_000)
  const { promise: answers, resolve: answer } = Promise.withResolvers<void>()
  const slow: OutboundHttp = { ...outbound, send: (request) => answers.then(() => outbound.send(request)) }
  const slowly = createGateChecks(rollout.ctx, slow, deviceUpgradeChecks)
  const begin = () => slowly.begin(new AbortController().signal)
  const begun = await begin()
  expect(begun).toHaveLength(7)
  expect(await begin()).toEqual([])
  await Promise.race(begun)
  expect((await read(timed)).hold).toBeNull()
  answer()
  await Promise.all(begun)
  expect(await begin()).toHaveLength(1)
  await slowly.ended()
  expect(checks.asked).toHaveLength(7)
})

async function createAt(site: string, waitFor: 'check' | 'time'): Promise<string> {
  const gate = waitFor === 'check' ? { wait_for: waitFor, url: checks.url } : { wait_for: waitFor, minutes: 1 }
  const phases = { canary_phases: [50, 100], phase_gates: [{ phase: 1, ...gate }] }
  const { id } = await rollout.create({ reboot_strategy: 'canary', all_sites: false, site_ids: [site], ...phases })
  return id
}

it('an answer after the cancellation is ignored, and a forbidden address gives no answer', async () => {
  const id = await createHeld()
  const strict = createOutboundHttp({ allowCidrs: [], allowLoopback: false })
  await ask(strict)
  await strict.close()
  expect(checks.asked).toEqual([])
  expect((await read(id)).hold?.reason).toMatch(
    /^phase 1 .* its check, which gave no answer at attempt 1 of 7: .*127\.0\.0\.1/,
  )
  rollout.clock.advance(5000)
  await ask(meanwhile(() => cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)))
  expect(checks.asked).toHaveLength(1)
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, cancelled: 6 }, hold: null, approvals: [] })
})

/** Calls `act` during the call of the check. */
function meanwhile(act: () => Promise<void>): OutboundHttp {
  return {
    ...outbound,
    async send(request) {
      await act()
      return outbound.send(request)
    },
  }
}

it('a pause during a check wins over its answer, and a resume repeats the check', async () => {
  const id = await createHeld()
  await ask(meanwhile(() => pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)))
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 6 }, hold: { by: 'user' }, approvals: [] })
  rollout.clock.advance(60_000)
  await ask()
  expect(checks.asked).toHaveLength(1)
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2 }, hold: { by: 'check' } })
  await ask()
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 8 }, approvals: [{ phase: 1, by: 'check' }] })
})

it('a resume after a pause for another reason does not open a phase that the check has refused', async () => {
  checks.reply = { status: 200, body: { open: false, reason: 'loss is 4 %' } }
  const id = await createHeld()
  await ask()
  await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  const { name } = rollout.org.scope.actor
  expect(await read(id)).toMatchObject({
    hold: { by: 'user', reason: `paused by ${name} (before: the check says: loss is 4 %)` },
  })
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await rollout.play()
  await ask()
  await rollout.play()
  expect(checks.asked).toHaveLength(2)
  expect(await read(id)).toMatchObject({ counts: { upgraded: 2, planned: 6 }, hold: { by: 'gate' }, approvals: [] })
  // Without a pause in between a person takes the place of the check.
  await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await rollout.play()
  expect(await read(id)).toMatchObject({ counts: { upgraded: 8 }, approvals: [{ phase: 1, by: 'resume' }] })
})

it('a late answer about one phase does not open another, also where sites have ended', async () => {
  await rollout.seed([2, 2, 4])
  const canaries = rollout.org.sites.slice(0, 2)
  const id = await createHeld({ canary_groups: canaries.map((site) => ({ site_ids: [site.id] })) }, [1, 2])
  const late = meanwhile(async () => {
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await rollout.play()
    // The check of the second phase is called too, and does not answer.
    await ask({ ...outbound, send: () => Promise.resolve({ kind: 'aborted' }) })
  })
  await ask(late)
  await rollout.play()
  expect(await read(id)).toMatchObject({
    counts: { upgraded: 4, planned: 4 },
    hold: { by: 'check', reason: 'phase 2 ended and waits for its check' },
    approvals: [{ phase: 1, by: 'resume' }],
  })
  const held = (await rollout.read(id)).siteUpgrades.filter(({ hold }) => hold !== null)
  expect(held.map(({ siteId }) => siteId)).toEqual([rollout.org.sites[2]?.id])
})

it('an answer that comes after the lease of its call decides nothing once the check is called again', async () => {
  const id = await createHeld()
  checks.reply = { status: 200, body: { open: false, reason: 'too late' } }
  const late = meanwhile(async () => {
    rollout.clock.advance(MINUTE_MS)
    await ask({ ...outbound, send: () => Promise.resolve({ kind: 'aborted' }) })
  })
  await ask(late)
  expect(await read(id)).toMatchObject({ hold: { by: 'check', reason: 'phase 1 ended and waits for its check' } })
  checks.reply = { status: 200, body: { open: true } }
  await passed(MINUTE_MS)
  expect(await read(id)).toMatchObject({ counts: { upgraded: 8 }, approvals: [{ phase: 1, by: 'check' }] })
})

it('a check of a phase of the downloads says so, and lets the next one open', async () => {
  const capabilities = { commands: ['stage', 'activate'], restart_members: [], restart_nodes: [] } as const
  await rollout.seed([{ devices: 4, type: 'switch', model: 'EX4100', capabilities }])
  const phase_gates = [{ phase: 1, wait_for: 'check' as const, url: checks.url }]
  const { id } = await rollout.create({ download_strategy: 'canary', canary_phases: [25], phase_gates })
  const play = () => rollout.play((_, attempt) => (attempt === 1 ? 'does' : 'upgrades'))
  await play()
  expect(await read(id)).toMatchObject({
    counts: { downloaded: 1, planned: 3 },
    hold: { by: 'check', of: 'downloads' },
  })
  await ask()
  const question = { phase: 1, phase_of: 'downloads', total: 1, upgraded: 1, failed: 0 }
  expect(checks.asked).toEqual([{ org_id: rollout.org.scope.orgId, upgrade_id: id, ...question }])
  await play()
  expect(await read(id)).toMatchObject({
    counts: { upgraded: 4 },
    approvals: [{ phase: 1, of: 'downloads', by: 'check' }],
  })
})
