import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyDecision, nowOf, readSite } from '../../../test/support/rollout-world/round.ts'
import { isIdle, isOver, isQuiet, leapOf } from '../../../test/support/rollout-world/run.ts'
import { type Simulated, fates, live, serviceMs, start } from '../../../test/support/rollout-world/simulated.ts'
import { type World, createWorld } from '../../../test/support/rollout-world/world.ts'
import { type OrgLimits, countInUse } from '../phases/decide-capacity.ts'
import { START_PHASE, isInFlight, isTerminal } from '../rollout.ts'
import { exceedsPercentage } from '../stops/decide-stop.ts'
import { type OrgUpgradeNow, decideOrgUpgrade } from './decide-org-upgrade.ts'
import { isHardReason } from './decide-step.ts'

const PHASES = 3

/** The upgrade of several sites, whose phases are shares of the whole. */
interface OrgWorld {
  org: OrgUpgradeNow
  readonly sites: readonly World[]
}

const limit = fc.option(fc.integer({ min: 1, max: 4 }))
const given = fc.record({
  sites: fc.array(
    fc.array(fc.array(fc.constantFrom(...fates), { maxLength: 3 }), { minLength: PHASES, maxLength: PHASES }),
    { minLength: 2, maxLength: 4 },
  ),
  percent: fc.nat(100),
  isStaged: fc.boolean(),
  limits: fc.record({
    maxInFlight: limit,
    maxDownloads: limit,
    maxDownloadsPerSite: limit,
    failureBudget: fc.option(fc.nat(3)),
  }),
  /** Of the first site alone. */
  firstDownloads: limit,
  cancelled: fc.option(fc.nat(100), { nil: Infinity }),
  /** The round before which a person approves the start; null: it begins without an approval. */
  approved: fc.option(fc.nat(60)),
})
type Given = typeof given extends fc.Arbitrary<infer T> ? T : never

function create({ sites, percent, isStaged, limits, firstDownloads, approved }: Given): OrgWorld {
  const worlds = sites.map((phases) => createWorld(phases, percent, { stages: () => isStaged }))
  for (const [index, world] of worlds.entries()) {
    const own = index === 0 && firstDownloads !== null ? { max_downloads: firstDownloads } : {}
    const plan = { ...world.siteUpgrade.plan, ...own, phase_scope: 'org' as const, gates: null }
    world.siteUpgrade = { ...world.siteUpgrade, plan }
  }
  const fleet = worlds.flatMap((world) => world.fleet)
  const sizes = Array.from({ length: PHASES }, (_, index) => inPhase(fleet, index + 1).length)
  const gates = sizes.map(() => ({ max_failures: null, max_failure_percentage: percent, min_upgraded: 1 }))
  const phases = { sizes, gates, current: 1, gatePassed: 0, approved: [], hurried: [], failures: {}, upgraded: {} }
  const pending = Object.fromEntries(sizes.map((size, index) => [index + 1, size]))
  return {
    sites: worlds,
    org: {
      ...{ id: 'org', maxFailurePercentage: percent, planned: fleet.length, hardFailures: 0, limits },
      inUse: { inFlight: 0, downloads: 0 },
      start: approved === null ? null : { gate: {}, given: 0 },
      phases: { ...phases, pending, hold: null, stopping: null },
      downloads: null,
    },
  }
}

const inPhase = (fleet: readonly Simulated[], phase: number): Simulated[] =>
  fleet.filter(({ target }) => target.phase === phase)

function usedBy(sites: readonly World[]): OrgUpgradeNow['inUse'] {
  const used = sites.map(({ siteUpgrade }) => countInUse(siteUpgrade.counts))
  const sum = (key: keyof OrgUpgradeNow['inUse']): number => used.reduce((total, one) => total + one[key], 0)
  return { inFlight: sum('inFlight'), downloads: sum('downloads') }
}

/** Does the worker's part around decideOrgUpgrade(). @returns How many devices were commanded. */
function round(world: OrgWorld, now: Date): number {
  const { org } = world
  const open = world.sites.filter((site) => !isOver(site))
  const sites = open.map((site) => Object.assign(readSite(site), { world: site }))
  const decided = decideOrgUpgrade({ ...org, inUse: usedBy(open) }, sites, nowOf(now))
  const results = decided.decisions.map(({ siteUpgrade, decision }) => applyDecision(siteUpgrade.world, decision))
  const stopping = decided.stopReason === null ? (org.phases?.stopping ?? null) : 'failed'
  const phases = org.phases && {
    ...org.phases,
    ...decided.phases,
    hold: decided.startHold ?? decided.phases?.hold ?? org.phases.hold,
    stopping,
  }
  world.org = { ...org, hardFailures: org.hardFailures + decided.newFailures, phases }
  for (const site of open) {
    if (isOver(site) || phases === null) continue
    if (phases.current > site.siteUpgrade.currentPhase) openPhase(site, phases.current)
    const hold = decided.startHold ?? decided.phases?.hold
    if (hold) site.siteUpgrade = { ...site.siteUpgrade, hold, dueMs: hold.since_ms }
  }
  return results.reduce((sum, { commanded }) => sum + commanded.length, 0)
}

function openPhase(site: World, currentPhase: number): void {
  const nowMs = serviceMs(site.now)
  const phaseOpenedMs = site.siteUpgrade.phaseOpenedMs === null ? null : nowMs
  site.siteUpgrade = { ...site.siteUpgrade, currentPhase, phaseOpenedMs, dueMs: nowMs }
}

/** Approves the start, resumes the upgrade at its gate once nothing is in flight, and cancels it. */
function intervene(
  world: OrgWorld,
  rounds: number,
  { cancelled, approved }: Pick<Given, 'cancelled' | 'approved'>,
): void {
  if (rounds === approved && world.org.start !== null)
    world.org = { ...world.org, start: { ...world.org.start, given: 1 } }
  const { phases, start: begins } = world.org
  if (phases === null) return
  const waits = begins?.given === 0
  if (rounds === cancelled && phases.stopping === null) {
    world.org = { ...world.org, phases: { ...phases, hold: null, stopping: 'cancelled' } }
    for (const site of world.sites)
      if (!isOver(site)) site.siteUpgrade = { ...site.siteUpgrade, hold: null, stopping: 'cancelled' }
  } else if (phases.hold !== null && !waits && world.sites.every(isQuiet)) {
    const gatePassed = phases.hold.phase === START_PHASE ? phases.gatePassed : phases.current
    world.org = { ...world.org, phases: { ...phases, hold: null, gatePassed } }
    for (const site of world.sites) site.siteUpgrade = { ...site.siteUpgrade, hold: null }
  }
}

/** Checks what must hold after each round. */
function expectRound(before: OrgWorld, world: OrgWorld, commanded: number): void {
  const { org, sites } = world
  const fleet = sites.flatMap((site) => site.fleet)
  const { phases, limits } = org
  if (phases === null || before.org.phases === null) throw new Error('unreachable: the phases are those of the whole')
  for (let phase = 1; phase <= PHASES; phase += 1) {
    const targets = inPhase(fleet, phase)
    const count = (matches: (one: Simulated) => boolean): number => targets.filter(matches).length
    expect(phases.pending[phase]).toBe(count(isPending))
    expect(phases.failures[phase] ?? 0).toBe(
      count(({ target, reason }) => target.state === 'failed' && isHardReason(reason)),
    )
    expect(phases.upgraded[phase] ?? 0).toBe(count(({ target }) => target.state === 'upgraded'))
    if (phases.current > phase && before.org.phases.current <= phase) expect(count(isPending)).toBe(0)
  }
  const waits = before.org.start?.given === 0
  if (waits) expect(sites.every((site) => isOver(site) || site.siteUpgrade.phaseOpenedMs === null)).toBe(true)
  const isHalted = waits || before.org.phases.hold !== null || phases.stopping !== null
  if (isHalted) expect(commanded).toBe(0)
  expectLimits(limits, before, world)
  const { hardFailures, planned, maxFailurePercentage: percent } = org
  const isExceeded =
    exceedsPercentage(hardFailures, percent, planned) || hardFailures > (limits.failureBudget ?? Infinity)
  if (isExceeded) expect(phases.stopping).not.toBeNull()
  if (phases.stopping !== null)
    expect(sites.every((site) => isOver(site) || site.siteUpgrade.stopping !== null)).toBe(true)
}

function isPending({ target: { state } }: Simulated): boolean {
  return state === 'planned' || state === 'downloaded' || isInFlight(state)
}

/** No device begins beyond a limit. */
function expectLimits(limits: OrgLimits, before: OrgWorld, after: OrgWorld): void {
  const expectWithin = (most: number | null, was: number, is: number): void =>
    expect(is).toBeLessThanOrEqual(Math.max(most ?? Infinity, was))
  const [was, is] = [usedBy(before.sites), usedBy(after.sites)]
  expectWithin(limits.maxInFlight, was.inFlight, is.inFlight)
  expectWithin(limits.maxDownloads, was.downloads, is.downloads)
  for (const [index, site] of after.sites.entries()) {
    const former = before.sites[index]
    if (former === undefined) continue
    const [formerly, present] = [usedBy([former]).downloads, usedBy([site]).downloads]
    expectWithin(limits.maxDownloadsPerSite, formerly, present)
    expectWithin(site.siteUpgrade.plan.max_downloads ?? null, formerly, present)
  }
}

test('at all sites together, the order of the phases, the limits, and a stop hold in each round, and it ends', () => {
  fc.assert(
    fc.property(given, (values) => {
      const world = create(values)
      for (let rounds = 0; !world.sites.every(isOver); rounds += 1) {
        if (rounds > 4000) throw new Error('does not end')
        intervene(world, rounds, values)
        const before = { org: world.org, sites: world.sites.map((site) => ({ ...site })) }
        const [first] = world.sites
        if (first === undefined) return
        const commanded = round(world, first.now)
        expectRound(before, world, commanded)
        const isStill = commanded === 0 && rounds > 100 && world.sites.every(isIdle)
        const leapMs = isStill ? Math.min(...world.sites.map(leapOf)) : 1000
        for (const site of world.sites) {
          for (const one of site.fleet) live(one, site.now)
          site.now = new Date(site.now.getTime() + leapMs)
        }
      }
      for (const { target, flashed } of world.sites.flatMap((site) => site.fleet)) {
        expect(isTerminal(target.state)).toBe(true)
        expect(flashed).toBeLessThan(2)
      }
    }),
    { numRuns: 60 },
  )
})

test('where phases of the downloads and of the reboots have failed at once, one gate pauses the upgrade at a time', () => {
  const { org } = create({
    ...{
      sites: [[['good'], ['good'], ['good']]],
      percent: 5,
      isStaged: true,
      firstDownloads: null,
      cancelled: Infinity,
      approved: null,
    },
    limits: { maxInFlight: null, maxDownloads: null, maxDownloadsPerSite: null, failureBudget: null },
  })
  if (org.phases === null) throw new Error('unreachable: it has phases')
  const failed = { ...org.phases, pending: { 1: 0, 2: 1, 3: 1 }, failures: { 1: 1 } }
  const both = { ...org, phases: failed, downloads: { ...failed, of: 'downloads' as const } }
  const { phases, downloads } = decideOrgUpgrade(both, [], nowOf(start))
  expect([phases?.hold?.by, downloads]).toEqual(['gate', null])
  const resumed = { ...both, phases: { ...failed, gatePassed: 1 } }
  expect(decideOrgUpgrade(resumed, [], nowOf(start))).toMatchObject({
    phases: { current: 2, hold: null },
    downloads: { hold: { by: 'gate', of: 'downloads' } },
  })
})
