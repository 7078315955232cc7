import { expect } from 'vitest'
import { beginsFinder, installMs } from '../../../src/mxedges/upgrades/decide-window.ts'
import { type MxedgeUpgradeNow, decideUpgrade } from '../../../src/mxedges/upgrades/decide-upgrade.ts'
import type { MxedgeTargetNow } from '../../../src/mxedges/upgrades/target.ts'
import {
  type MxedgeTargetState,
  type MxedgeUpgradePlan,
  isInFlight,
  isTerminal,
  noCounts,
} from '../../../src/mxedges/upgrades/upgrade.ts'
import { epochS } from '../../../src/platform/time/clock.ts'
import { appliance, command, options, step, target } from './mxedge-targets.ts'

/**
 * `loses`: it loses the connection with every command, though it executes it; `vanishes`: it disappears after a
 * command; `ignores`: it acknowledges commands without executing them; `flaps`: it is away every other minute.
 */
export type Fate = 'works' | 'refuses' | 'loses' | 'vanishes' | 'ignores' | 'absent' | 'flaps'

interface Member {
  readonly fate: Fate
  target: MxedgeTargetNow
  /** The number of upgrades of each service. */
  readonly effects: Map<string, number>
  /** The round in which the present command was queued. */
  commandedAt: number
}

/** An upgrade in memory, with appliances that live by rounds of a second. */
export interface World {
  upgrade: MxedgeUpgradeNow & { readonly finishedAt?: Date | null; readonly waitsUntil?: Date | null }
  readonly fleet: readonly Member[]
  now: Date
  nowMs: number
  rounds: number
  busyClusters: ReadonlySet<string>
  /** Ids in the order of the first commands to install. */
  readonly order: string[]
}

export interface MemberTraits {
  readonly phase?: number
  readonly wave?: number
  readonly fate?: Fate
  readonly clusterId?: string | null
  /** The number of services that are upgraded. */
  readonly services?: number
  /** True if it downloads its packages before it installs the first one. */
  readonly canStage?: boolean
}

export function newWorld(traits: readonly MemberTraits[], plan: Partial<MxedgeUpgradePlan> = {}): World {
  const phases = Math.max(1, ...traits.map(({ phase = 1 }) => phase))
  const fleet = traits
    .map(memberOf)
    .toSorted((a, b) => a.target.phase - b.target.phase || a.target.wave - b.target.wave)
  const sizes = Array.from(
    { length: phases },
    (_, index) => traits.filter(({ phase = 1 }) => phase === index + 1).length,
  )
  const now = new Date('2026-03-01T00:00:00Z')
  return {
    upgrade: {
      status: 'queued',
      stopping: null,
      stopReason: null,
      hold: null,
      approvals: [],
      gatePassed: 0,
      startAt: now,
      plan: {
        strategy: 'canary',
        phases,
        phase_sizes: sizes,
        gates: null,
        max_failure_percentage: null,
        planned: traits.length,
        ...plan,
      },
      currentPhase: 1,
      phaseOpenedMs: null,
      counts: { ...noCounts, planned: traits.length },
      released: 0,
      hardFailures: {},
      upgradedByPhase: {},
      targets: [],
    },
    fleet,
    now,
    nowMs: target.enteredMs,
    rounds: 0,
    busyClusters: new Set(),
    order: [],
  }
}

function memberOf(
  { phase = 1, wave = 1, fate = 'works', clusterId = null, services = 1, canStage = false }: MemberTraits,
  index: number,
): Member {
  const names = Array.from({ length: services }, (_, place) => `service-${place}`)
  const link = fate === 'absent' ? ('absent' as const) : ('connected' as const)
  return {
    fate,
    target: {
      ...target,
      mxedgeId: String(index),
      phase,
      wave,
      steps: names.map((service) => ({ ...step, service })),
      appliance: {
        ...appliance,
        link,
        clusterId,
        canStage,
        services: names.map((name) => ({ name, version: '1.0.0', state: 'running' })),
      },
    },
    effects: new Map(),
    commandedAt: 0,
  }
}

/** Runs one round and applies it, as the worker does. @returns The changes with a command to install. */
export function round(world: World) {
  const { upgrade, now, nowMs, busyClusters } = world
  const open = world.fleet
    .map((one) => one.target)
    .filter(({ state, phase }) => !isTerminal(state) && (upgrade.stopping !== null || phase <= upgrade.currentPhase))
  const decision = decideUpgrade({ ...upgrade, targets: open }, { now, nowMs, graceUntilMs: 0, options, busyClusters })
  const byId = new Map(world.fleet.map((one) => [one.target.mxedgeId, one]))
  for (const { target: before, reason: _, order, ...change } of decision.steps) {
    const one = byId.get(before.mxedgeId)
    if (one === undefined) throw new Error('a change without a target')
    expect(isTerminal(one.target.state)).toBe(false)
    const isEntered = change.state !== before.state || order !== null
    one.target = { ...one.target, ...change, ...(isEntered && { enteredMs: nowMs }) }
    if (order === null) continue
    const attempt = before.attempt + 1
    one.target = {
      ...one.target,
      attempt,
      command: { ...command, id: `${before.mxedgeId}#${attempt}`, state: 'queued' },
    }
    one.commandedAt = world.rounds
    if (change.state === 'commanded' && !world.order.includes(before.mxedgeId)) world.order.push(before.mxedgeId)
  }
  for (const one of world.fleet) {
    const { command: present } = one.target
    if (present !== null && decision.withdrawn.includes(present.id))
      one.target = { ...one.target, command: { ...present, state: 'cancelled' } }
  }
  world.upgrade = { ...upgrade, ...decision.upgrade }
  return decision.steps.filter(({ state, order }) => state === 'commanded' && order !== null)
}

/** The life of an appliance in one second. */
function live(one: Member, { nowMs, rounds }: World): void {
  const { target: now, fate } = one
  const { appliance: box, command: present } = now
  if (box === null) return
  if (fate === 'flaps') {
    const isAway = Math.floor(rounds / 60) % 2 === 1
    one.target = {
      ...now,
      appliance: {
        ...box,
        link: isAway ? 'absent' : 'connected',
        connectedMs: isAway ? null : nowMs - (rounds % 60) * 1000,
      },
    }
  }
  if (one.target.appliance?.link !== 'connected') return
  const age = rounds - one.commandedAt
  // The agent answers again when it is back.
  if (fate === 'loses' && now.state === 'downloading' && present?.state === 'unknown')
    one.target = { ...one.target, command: { ...present, state: 'done' } }
  if (present?.state === 'queued' && age >= 1) one.target = { ...one.target, command: { ...present, state: 'sent' } }
  if (present?.state !== 'sent' || age < 3) return
  answer(one, present.id)
}

function answer(one: Member, id: string): void {
  const { target: now, fate } = one
  const { appliance: box } = now
  const order = now.steps[now.step]
  if (box === null || order === undefined || !('service' in order)) throw new Error('a command without a step')
  const settle = (state: 'done' | 'rejected' | 'unknown', more: Partial<MxedgeTargetNow> = {}): void => {
    one.target = { ...one.target, ...more, command: { ...command, id, state } }
  }
  if (fate === 'refuses') return settle('rejected')
  if (fate === 'vanishes') return settle('unknown', { appliance: { ...box, link: 'absent', connectedMs: null } })
  // A download; it may have been cancelled.
  if (!isInFlight(now.state)) return settle(fate === 'loses' ? 'unknown' : 'done')
  // The commanded version is on it.
  if (box.canStage) expect(now.staged).toBeGreaterThan(now.step)
  if (fate === 'ignores') return settle('done')
  one.effects.set(order.service, (one.effects.get(order.service) ?? 0) + 1)
  const services = box.services.map((each) => (each.name === order.service ? { ...each, version: order.to } : each))
  settle(fate === 'loses' ? 'unknown' : 'done', { appliance: { ...box, services } })
}

export interface Interventions {
  readonly cancelAtRound?: number | null
  readonly pauseAtRound?: number | null
  /** Absent appliances are back from here on. */
  readonly backAtRound?: number
  /** True if a person resumes a paused upgrade. Default: true. */
  readonly resume?: boolean
}

/** Runs to the end, or until the upgrade is paused, and checks the invariants in every round. */
export function run(
  world: World,
  { cancelAtRound, pauseAtRound, backAtRound, resume = true }: Interventions = {},
): void {
  while (world.upgrade.finishedAt == null) {
    if (world.rounds > 60_000) throw new Error('does not end')
    intervene(world, {
      cancelAtRound: cancelAtRound ?? null,
      pauseAtRound: pauseAtRound ?? null,
      backAtRound: backAtRound ?? -1,
    })
    if (world.upgrade.hold !== null && isQuiet(world)) {
      if (!resume) return
      const { hold, currentPhase, gatePassed } = world.upgrade
      world.upgrade = { ...world.upgrade, hold: null, gatePassed: hold.by === 'gate' ? currentPhase : gatePassed }
    }
    checkRound(world)
    for (const one of world.fleet) live(one, world)
    const isIdle = world.fleet.every(
      ({ target: { state, appliance: box } }) => isTerminal(state) || box?.link === 'absent',
    )
    const isClosed = world.upgrade.waitsUntil != null && isQuiet(world)
    const passedMs =
      isClosed || (isIdle && world.rounds > (backAtRound ?? 0)) ? 600_000 : world.rounds > 300 ? 5000 : 1000
    world.rounds += 1
    world.nowMs += passedMs
    world.now = new Date(world.now.getTime() + passedMs)
  }
}

function intervene(
  world: World,
  {
    cancelAtRound,
    pauseAtRound,
    backAtRound,
  }: { cancelAtRound: number | null; pauseAtRound: number | null; backAtRound: number },
): void {
  const { upgrade, rounds, nowMs } = world
  if (rounds === cancelAtRound && upgrade.stopping === null)
    world.upgrade = { ...upgrade, stopping: 'cancelled', hold: null }
  else if (rounds === pauseAtRound && upgrade.stopping === null && upgrade.hold === null)
    world.upgrade = { ...upgrade, hold: { by: 'user', reason: 'paused', since_s: 0, since_ms: nowMs } }
  if (rounds !== backAtRound) return
  for (const one of world.fleet)
    one.target = {
      ...one.target,
      appliance: { ...appliance, ...one.target.appliance, link: 'connected', connectedMs: nowMs },
    }
}

function checkRound(world: World): void {
  const { upgrade } = world
  const before = new Map(world.fleet.map(({ target: each }) => [each.mxedgeId, each]))
  const commanded = round(world).map(({ target: each }) => each)
  expect(world.upgrade.counts).toEqual(countStates(world))
  for (const each of commanded) {
    const was = before.get(each.mxedgeId)
    if (was === undefined || isInFlight(was.state)) continue
    const needMs = installMs(each.steps.slice(each.step), options)
    expect(beginsFinder(upgrade.plan, world)(each.plannedSiteId)(needMs)).toBeLessThanOrEqual(world.nowMs)
  }
  if (commanded.length > 0) {
    expect(epochS(world.now)).toBeLessThan(upgrade.plan.ends_s ?? Infinity)
    expect([upgrade.hold, upgrade.stopping, world.upgrade.stopping]).toEqual([null, null, null])
    for (const { phase, wave } of commanded) {
      expect(phase).toBeLessThanOrEqual(upgrade.currentPhase)
      const earlier = [...before.values()].filter(
        (each) => each.phase < phase || (each.phase === phase && each.wave < wave),
      )
      // An absent appliance of an earlier wave delays no others, and may have come back and be in flight.
      const present = earlier.filter(({ appliance: box }) => (box?.connectedMs ?? 0) <= (upgrade.phaseOpenedMs ?? 0))
      expect(present.filter(({ state }) => ['planned', 'downloading', 'downloaded'].includes(state))).toEqual([])
    }
  }
  const clusters = world.fleet
    .filter(({ target: each }) => isInFlight(each.state))
    .flatMap(({ target: each }) => each.appliance?.clusterId ?? [])
  expect(new Set(clusters).size).toBe(clusters.length)
  for (const { effects } of world.fleet) expect(Math.max(0, ...effects.values())).toBeLessThanOrEqual(1)
}

function countStates({ fleet }: World): Record<MxedgeTargetState, number> {
  const counts = { ...noCounts }
  for (const { target: each } of fleet) counts[each.state] += 1
  return counts
}

/** True if nothing in flight would end without a command. */
function isQuiet({ fleet }: World): boolean {
  return fleet.every(({ target: { state } }) => !isInFlight(state) && state !== 'downloading')
}
