// Random changes by people during upgrades of a fleet that fails at random, with the real engine and database. Some upgrades have times,
// and some fleets are SSR routers.
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { assignDevices, unassignDevices } from '../../../src/devices/inventory/assign-devices.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { createOutboundHttp } from '../../../src/platform/outbound/outbound-http.ts'
import { deviceUpgradeChecks } from '../../../src/rollout/gates/device-checks.ts'
import { createGateChecks } from '../../../src/rollout/gates/gate-checks.worker.ts'
import { START_PHASE, type UpgradeKind } from '../../../src/rollout/rollout.ts'
import { endUpgrades } from '../../../src/rollout/stops/end-upgrades.worker.ts'
import { followWallClock } from '../../../src/rollout/worker.ts'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { excludeDevices } from '../../../src/upgrades/changes/exclude-devices.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { createSsrUpgrade } from '../../../src/upgrades/ssr/create-ssr-upgrade.ts'
import { type SsrUpgradeBody, parseSsrUpgrade } from '../../../src/upgrades/ssr/wire.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { NEW, OLD, type Replies, type Reply, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { randomRuns } from '../../support/random-runs.ts'
import { useRollout } from '../harness.ts'
import { commandsOfHeld, expectLimits, expectTimes } from './expect-limits.ts'
import { type BodyOf, type Change, DEVICES, type Step, kinds, steps } from './random-steps.ts'

/** Each run commits some hundred transactions. */
const RUNS = randomRuns(2)

const rollout = useRollout()
const outbound = createOutboundHttp({ allowCidrs: [], allowLoopback: false })
afterAll(() => outbound.close())
const twoSteps = {
  commands: ['stage', 'activate', 'upgrade', 'restore_backup'],
  restart_members: [],
  restart_nodes: [],
  backup_version: OLD,
} as const
const oneStep = { ...twoSteps, commands: ['upgrade', 'restore_backup'] } as const

/** The fleet as it is, whatever the service knows of it. */
interface Truth {
  readonly kind: UpgradeKind
  readonly devices: readonly SeededDevice[]
  readonly firmware: Map<string, string>
  readonly online: Set<string>
  /** By upgrade, device, version and run: how often the device has installed it. */
  readonly installs: Map<string, number>
  /** The newest upgrade is first. */
  readonly ids: string[]
}

/** Counts an installation by the command that has caused it. */
async function install(truth: Truth, commandId: string): Promise<void> {
  const { db } = rollout.ctx
  const found = await db
    .selectFrom('deviceCommand as command')
    .innerJoin('upgradeTarget as target', (join) =>
      join.onRef('target.upgradeId', '=', 'command.siteUpgradeId').onRef('target.deviceId', '=', 'command.deviceId'),
    )
    .select(['target.upgradeId', 'target.deviceId', 'target.run', 'command.version'])
    .where('command.id', '=', commandId)
    .executeTakeFirstOrThrow()
  const key = Object.values(found).join(' ')
  truth.installs.set(key, (truth.installs.get(key) ?? 0) + 1)
}

/** A device does what its reply says, as far as it fits the command. */
function repliesOf(truth: Truth, given: readonly Reply[]): Replies {
  return async (device, _, { id, kind, params }) => {
    const reply = given[truth.devices.indexOf(device)] ?? 'upgrades'
    if (kind === 'stage') return reply === 'refuses' || reply === 'refuses_content' ? reply : 'does'
    const before = truth.firmware.get(device.id) ?? OLD
    const wanted = 'version' in params ? (params.version ?? OLD) : OLD
    // The connection would be back with the old version.
    if (reply === 'loses_early') return before === OLD ? reply : 'refuses'
    if (reply === 'refuses' || reply === 'refuses_content') return reply
    if (kind !== 'restore_backup') await install(truth, id)
    const firmware = reply === 'keeps_old' && kind !== 'restore_backup' ? before : wanted
    truth.firmware.set(device.id, firmware)
    if (reply === 'dies') truth.online.delete(device.id)
    if (reply === 'dies') return reply
    return firmware === NEW ? 'upgrades' : 'keeps_old'
  }
}

async function holdOf(id: string) {
  const query = rollout.ctx.db.selectFrom('orgUpgrade').select(['hold', 'currentPhase']).where('id', '=', id)
  return query.executeTakeFirstOrThrow()
}

async function approve({ kind }: Truth, id: string): Promise<void> {
  const { hold, currentPhase } = await holdOf(id)
  await approveOrgUpgrade(rollout.ctx, rollout.org.scope, { id, kind, phase: hold?.phase ?? currentPhase, note: null })
}

/** The fields that upgrades of routers have, too, with a gate at the start. It names those that are at sites. */
async function routersBody({ devices }: Truth, [limit, strategy]: BodyOf): Promise<SsrUpgradeBody> {
  const { version, supersede, include_new, end_time, maintenance_windows } = limit
  const gates = 'phase_gates' in strategy ? strategy.phase_gates : []
  const named = { version, supersede, include_new, end_time, maintenance_windows }
  const limits = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
  const placed = await rollout.ctx.db.selectFrom('device').select('id').where('siteId', 'is not', null).execute()
  return {
    ...limits,
    device_ids: devices.flatMap(({ id }) => (placed.some((one) => one.id === id) ? [id] : [])),
    strategy: strategy.strategy === 'serial' ? ('serial' as const) : ('big_bang' as const),
    phase_gates: gates.filter(({ phase }) => phase === START_PHASE),
  }
}

async function create(truth: Truth, body: BodyOf): Promise<string> {
  const [limit, strategy] = body
  const { ctx, org } = rollout
  if (truth.kind === 'device') return (await rollout.create(atTimes({ ...limit, ...strategy }))).id
  const wanted = parseSsrUpgrade(atTimes(await routersBody(truth, body)))
  return (await createSsrUpgrade(ctx, org.scope, wanted)).id
}

function atTimes<T extends OrgUpgradeBody | SsrUpgradeBody>({ end_time: end, phase_gates: phaseGates, ...body }: T) {
  const nowS = rollout.clock.now().getTime() / 1000
  return {
    ...body,
    ...(end !== undefined && { end_time: nowS + end }),
    ...(phaseGates !== undefined && {
      phase_gates: phaseGates.map(({ not_before: instant, ...gate }) => ({
        ...gate,
        ...(instant !== undefined && { not_before: nowS + instant }),
      })),
    }),
  }
}

/** @throws AppError where the change is refused. */
async function change(truth: Truth, step: Change): Promise<void> {
  const { ctx, org } = rollout
  if (step.does === 'create') {
    truth.ids.unshift(await create(truth, step.body))
    return
  }
  const macs = 'some' in step ? step.some.flatMap((place) => truth.devices[place]?.mac ?? []) : []
  if (step.does === 'move') {
    const [siteId, at] = [org.sites[step.site]?.id, ctx.clock.now()]
    const named = { names: { macs, serials: [] }, at }
    const to = { ...named, noReassign: false, settings: {} }
    await inTx(ctx, (tx) =>
      siteId === undefined ? unassignDevices(tx, org.scope, named) : assignDevices(tx, org.scope, { ...to, siteId }),
    )
    return
  }
  const { kind } = truth
  const id = truth.ids[step.which]
  if (id === undefined) return
  if (step.does === 'pause') await pauseOrgUpgrade(ctx, org.scope, id, kind)
  if (step.does === 'resume') await resumeOrgUpgrade(ctx, org.scope, id, kind)
  if (step.does === 'approve') await approve(truth, id)
  if (step.does === 'retry') await retryOrgUpgrade(ctx, org.scope, { id, kind, macs: null })
  if (step.does === 'cancel') await cancelOrgUpgrade(ctx, org.scope, id, kind)
  if (step.does === 'exclude') await excludeDevices(ctx, org.scope, { id, kind, macs, note: null })
}

/** A round of the engine and its neighbors, before which enough time passes for boots to be noticed. */
async function round(truth: Truth, given: readonly Reply[] = []): Promise<void> {
  rollout.clock.advance(30_000)
  await rollout.advance()
  await includeAll(rollout.ctx)
  await Promise.all(
    await createGateChecks(rollout.ctx, outbound, deviceUpgradeChecks).begin(new AbortController().signal),
  )
  await endUpgrades(rollout.ctx)
  await rollout.fleet.answer(repliesOf(truth, given))
}

async function connect(truth: Truth, devices: readonly SeededDevice[]): Promise<void> {
  for (const device of devices) {
    truth.online.add(device.id)
    await rollout.fleet.connect([device], truth.firmware.get(device.id) ?? OLD)
  }
}

async function perform(truth: Truth, step: Step): Promise<void> {
  const { clock, ctx, fleet } = rollout
  switch (step.does) {
    case 'advance':
      return rollout.advance()
    case 'round':
      return round(truth, step.replies)
    case 'wait':
      clock.advance(step.minutes * 60_000)
      return rollout.advance()
    case 'switch': {
      const chosen = truth.devices.filter((_, place) => step.some.includes(place))
      const gone = chosen.filter(({ id }) => truth.online.has(id))
      await fleet.disconnect(gone)
      for (const { id } of gone) truth.online.delete(id)
      return connect(
        truth,
        chosen.filter((device) => !gone.includes(device)),
      )
    }
    case 'restart':
      await fleet.markSessionsLost()
      await followWallClock(ctx, null)
      return connect(
        truth,
        truth.devices.filter(({ id }) => truth.online.has(id)),
      )
    case 'create':
    case 'move':
    case 'pause':
    case 'resume':
    case 'approve':
    case 'retry':
    case 'cancel':
    case 'exclude':
      // A refusal is an answer; anything else is a fault of the service.
      return change(truth, step).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error
      })
  }
}

/** So many rounds without anything to do are enough for a search for devices that join. */
const QUIET_ROUNDS = 3

/** The devices obey, people open what waits, and time passes: each upgrade must end. */
async function finish(truth: Truth): Promise<void> {
  await connect(
    truth,
    truth.devices.filter(({ id }) => !truth.online.has(id)),
  )
  let quiet = 0
  for (let rounds = 0; rounds < 400; rounds += 1) {
    await round(truth)
    const left = await rollout.ctx.db
      .selectFrom('siteUpgrade')
      .select('orgUpgradeId')
      .where('finishedAt', 'is', null)
      .execute()
    // One that has ended goes on if a device that it awaits joins it, which it looks for after a while.
    quiet = left.length === 0 ? quiet + 1 : 0
    if (quiet === QUIET_ROUNDS) return
    for (const id of new Set(left.map(({ orgUpgradeId }) => orgUpgradeId))) {
      const { hold } = await holdOf(id)
      if (hold?.by === 'approval') await approve(truth, id)
      else await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id, truth.kind)
    }
    if (rounds > 5 || quiet > 0) rollout.clock.advance(600_000)
  }
  throw new Error('an upgrade does not end')
}

it('whatever people do meanwhile, upgrades keep their limits, install once, end, and leave their devices free', async () => {
  /** Returns how many times a device has installed something. */
  async function play(kind: UpgradeKind, given: readonly (readonly Step[])[]): Promise<number> {
    const half = { devices: DEVICES / 2, ...(kind === 'ssr' && { type: 'gateway' as const, model: 'SSR120' }) }
    const devices = await rollout.seed([
      { ...half, capabilities: kind === 'ssr' ? twoSteps : oneStep },
      { ...half, capabilities: twoSteps },
    ])
    const [firmware, online] = [new Map<string, string>(), new Set(devices.map(({ id }) => id))]
    const truth: Truth = { kind, devices, firmware, online, installs: new Map(), ids: [] }
    for (const step of given) {
      const before = await commandsOfHeld(rollout.ctx)
      await Promise.all(step.map((one) => perform(truth, one)))
      await expectConsistent(rollout.ctx)
      await expectLimits(rollout.ctx)
      await expectTimes(rollout.ctx)
      for (const [held, commands] of await commandsOfHeld(rollout.ctx))
        expect(commands).toBe(before.get(held) ?? commands)
    }
    await finish(truth)
    await expectConsistent(rollout.ctx)
    expect([...truth.installs].filter(([, times]) => times > 1)).toEqual([])
    const busy = rollout.ctx.db.selectFrom('deviceUpgrade').select('deviceId').where('upgradeId', 'is not', null)
    expect(await busy.execute()).toEqual([])
    return truth.installs.size
  }
  // People may cancel every random upgrade before it installs anything.
  const create: Step = { does: 'create', body: [{ version: NEW }, { strategy: 'big_bang' }] }
  for (const kind of ['device', 'ssr'] as const) expect(await play(kind, [[create]])).toBe(DEVICES)
  const property = fc.asyncProperty(kinds, steps, async (kind, given) => void (await play(kind, given)))
  // A failed run leaves upgrades behind, with which no shorter one can be tried.
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
})
