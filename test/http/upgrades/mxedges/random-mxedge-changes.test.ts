// Random changes by people, over HTTP, during upgrades of edge appliances that fail at random, with the real engine and database.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { defaultMxedgeUpgradeOptions } from '../../../../src/mxedges/upgrades/options.ts'
import { advanceMxedgeUpgrades } from '../../../../src/mxedges/upgrades/worker.ts'
import { includeAllMxedges } from '../../../../src/upgrades/mxedges/include-new.worker.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { addSite } from '../../../support/fleets/devices.ts'
import { addCluster } from '../../../support/fleets/mxedges.ts'
import type { TestOrg } from '../../../support/servers/server.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { expectConsistent, expectRest, expectTimes, readUpgrades, withoutNames } from './expect-mxedge-upgrades.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'
import { randomRuns } from '../../../support/random-runs.ts'
import { type ApplianceReply, type SimulatedAppliances, simulateAppliances } from './simulated-appliances.ts'

/** Each run commits some hundred transactions. */
const RUNS = randomRuns(2)

const clock = createTestClock()
const given = useMxedgeUpgrades(clock)
const APPLIANCES = 5

const start = { phase: 0, wait_for: 'approval' }
const approval = { phase: 1, wait_for: 'approval' }
const time = { phase: 1, wait_for: 'time', minutes: 30 }
const pause = { phase: 1, wait_for: 'pause' }
const gates = [[], [start], [approval], [time], [pause], [start, approval], [start, time], [start, pause]]
const some = fc.uniqueArray(fc.nat(APPLIANCES - 1), { minLength: 1, maxLength: 3 })
/** `start_time` and `end_time` are in seconds from now; `mxedge_ids` are places in the list of the appliances. */
const bodies = fc.tuple(
  fc.record(
    {
      versions: fc.constantFrom({ tunterm: '2.0.0' }, { tunterm: '3.0.0' }),
      allow_downgrades: fc.constant({ tunterm: true }),
      mxedge_ids: some,
      include_new: fc.constant(true),
      supersede: fc.boolean(),
      start_time: fc.constantFrom(0, 600),
      end_time: fc.constantFrom(900, 36_000),
      phase_gates: fc.constant([start]),
      maintenance_windows: fc.constantFrom([], [{ start: '12:30', end: '12:55' }], [{ start: '22:00', end: '02:00' }]),
    },
    { requiredKeys: ['versions', 'allow_downgrades'] },
  ),
  fc.oneof(
    fc.record({ strategy: fc.constantFrom('big_bang', 'serial') }),
    fc.record({
      strategy: fc.constant('canary'),
      canary_phases: fc.constantFrom([50, 100], [20, 60, 100]),
      max_failure_percentage: fc.constantFrom(0, 30, 100),
      phase_gates: fc.constantFrom(...gates),
    }),
  ),
)
/** The upgrade, counted from the newest one. */
const which = fc.nat(2)
const changes = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('create' as const), body: bodies, atSite: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('update' as const), body: bodies, which }) },
  {
    weight: 5,
    arbitrary: fc.record({ does: fc.constantFrom('pause', 'resume', 'retry', 'cancel' as const), which }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('approve' as const), which, phase: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('exclude' as const), which, some }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('move' as const), verb: fc.constantFrom('assign', 'unassign'), some }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('rename' as const), name: fc.constantFrom('Tunnels', 'Agents'), which }),
  },
)
const replies = fc.array(
  fc.constantFrom<ApplianceReply>(
    ...(['obeys', 'obeys', 'obeys', 'refuses', 'refuses_for_good', 'lies'] as const),
    ...(['loses_answer', 'executes_later', 'forgets'] as const),
  ),
  { minLength: APPLIANCES, maxLength: APPLIANCES },
)
const events = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('round' as const), replies }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('wait' as const), minutes: fc.constantFrom(1, 20, 600) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('switch' as const), some }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restart' as const) }) },
)
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.tuple(changes) },
    { weight: 5, arbitrary: fc.tuple(events) },
    { weight: 1, arbitrary: fc.tuple(changes, changes) },
    { weight: 1, arbitrary: fc.tuple(changes, fc.record({ does: fc.constant('advance' as const) })) },
  ),
  { minLength: 15, maxLength: 25, size: 'max' },
)
type Change = typeof changes extends fc.Arbitrary<infer T> ? T : never
type Step = (typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never)[number]

/** Many of the others have nothing to do, because their times or appliances don't suit. */
const first: Change = {
  does: 'create',
  body: [{ versions: { tunterm: '2.0.0' }, allow_downgrades: { tunterm: true } }, { strategy: 'serial' }],
  atSite: false,
}

interface World {
  readonly org: TestOrg
  readonly siteId: string
  readonly simulated: SimulatedAppliances
  /** The newest upgrade is first. */
  readonly ids: string[]
}

/** The organization of the run before is left behind. */
async function createWorld(): Promise<World> {
  const { world } = given
  const org = await world.addOrg()
  for (const version of ['2.0.0', '3.0.0']) await uploadPackage(world, version, { org })
  const { id: mxcluster_id } = await addCluster(world, {}, org)
  const siteId = await addSite(world, 'Here', org)
  const site = { site_id: siteId }
  const simulated = await simulateAppliances(world, {
    org,
    bodies: [{ mxcluster_id }, { mxcluster_id, ...site }, { mxcluster_id }, site, {}],
  })
  return { org, siteId, simulated, ids: [] }
}

async function call({ org }: World, method: string, path: string, body: object): Promise<AnyJson> {
  const answer = await given.world.call(method, path, { as: org, body })
  expect([200, 400, 404, 409]).toContain(answer.status)
  return answer
}

const idsOf = ({ simulated }: World, places: readonly number[]): string[] =>
  places.flatMap((place) => simulated.all[place]?.id ?? [])

function requestOf(
  world: World,
  [{ start_time: begin, end_time: end, mxedge_ids: places, ...limits }, strategy]: AnyJson[],
) {
  const nowS = clock.now().getTime() / 1000
  return {
    ...limits,
    ...strategy,
    // Beside a list of appliances include_new is refused.
    ...(places !== undefined && { mxedge_ids: idsOf(world, places), include_new: false }),
    ...(begin !== undefined && { start_time: nowS + begin }),
    ...(end !== undefined && { end_time: nowS + end }),
  }
}

function bodyOf(step: Change, mxedge_ids: readonly string[]): object {
  if (step.does === 'approve') return { phase: step.phase }
  return step.does === 'exclude' ? { mxedge_ids } : {}
}

async function change(world: World, step: Change): Promise<void> {
  const { org, siteId, ids } = world
  const inOrg = `/orgs/${org.orgId}/mxedges`
  const mxedge_ids = 'some' in step ? idsOf(world, step.some) : []
  if (step.does === 'create') {
    const place = step.atSite ? `/sites/${siteId}/mxedges` : inOrg
    const { status, body } = await call(world, 'POST', `${place}/upgrade`, requestOf(world, step.body))
    if (status === 200) ids.unshift(body.id)
    return
  }
  if (step.does === 'move') {
    const site = step.verb === 'assign' ? { site_id: siteId } : {}
    await call(world, 'POST', `${inOrg}/${step.verb}`, { mxedge_ids, ...site })
    return
  }
  const id = ids[step.which]
  if (id === undefined) return
  if (step.does === 'rename')
    expect(await call(world, 'PUT', `${inOrg}/upgrade/${id}`, { name: step.name })).toMatchObject({ status: 200 })
  else if (step.does === 'update') await call(world, 'PUT', `${inOrg}/upgrade/${id}`, requestOf(world, step.body))
  else await call(world, 'POST', `${inOrg}/upgrade/${id}/${step.does}`, bodyOf(step, mxedge_ids))
}

const advance = ({ org }: World): Promise<void> =>
  advanceMxedgeUpgrades(given.world.ctx, org.orgId, defaultMxedgeUpgradeOptions)

/** A round of the engine and its neighbors. */
async function round(world: World, wanted: readonly ApplianceReply[] = []): Promise<void> {
  clock.advance(30_000)
  await advance(world)
  await includeAllMxedges(given.world.ctx)
  const { simulated } = world
  await simulated.answer((appliance) => wanted[simulated.all.indexOf(appliance)] ?? 'obeys')
}

async function perform(world: World, step: Step): Promise<void> {
  const { simulated } = world
  switch (step.does) {
    case 'advance':
      return advance(world)
    case 'round':
      return round(world, step.replies)
    case 'wait':
      clock.advance(step.minutes * 60_000)
      return advance(world)
    case 'switch':
      for (const [place, appliance] of simulated.all.entries())
        if (step.some.includes(place))
          await (appliance.epoch === null ? simulated.connect(appliance) : simulated.disconnect(appliance))
      return
    case 'restart':
      return simulated.restart()
    case 'create':
    case 'update':
    case 'rename':
    case 'pause':
    case 'resume':
    case 'retry':
    case 'cancel':
    case 'approve':
    case 'exclude':
    case 'move':
      return change(world, step)
  }
}

const read = ({ org }: World) => readUpgrades(given.world.ctx, org.orgId)

/** The record, the list, the overview and the targets of the newest upgrade agree. */
async function expectShown(world: World): Promise<void> {
  const [id] = world.ids
  if (id === undefined) return
  const get = async (path: string): Promise<AnyJson> =>
    (await given.world.call('GET', `/orgs/${world.org.orgId}/${path}`, { as: world.org })).body
  const { counts, held, status } = await get(`mxedges/upgrade/${id}`)
  const item = (await get('mxedges/upgrade')).find((one: AnyJson) => one.id === id)
  expect({ ...item, held: item.held }).toMatchObject({ counts, held, status })
  const overview = await get(`upgrades/${id}`)
  expect({ ...overview, held: overview.held }).toMatchObject({ counts, held })
  const targets: AnyJson[] = await get(`mxedges/upgrade/${id}/targets`)
  expect(targets).toHaveLength(counts.total)
  for (const state of ['queued', 'success', 'failed', 'skipped', 'cancelled'])
    expect(targets.filter((target) => target.status === state)).toHaveLength(counts[state])
}

/** The appliances obey, people approve and resume what waits for them, and time passes: each upgrade must end. */
async function finish(world: World): Promise<void> {
  const { simulated, org } = world
  for (const appliance of simulated.all) if (appliance.epoch === null) await simulated.connect(appliance)
  for (let rounds = 0; rounds < 300; rounds += 1) {
    await round(world)
    const left = (await read(world)).upgrades.filter(({ finishedAt }) => finishedAt === null)
    if (left.length === 0) return
    for (const { id, hold, currentPhase } of left) {
      const path = `/orgs/${org.orgId}/mxedges/upgrade/${id}`
      if (hold?.by === 'approval') await call(world, 'POST', `${path}/approve`, { phase: hold.phase ?? currentPhase })
      else if (hold !== null && hold.by !== 'time') await call(world, 'POST', `${path}/resume`, {})
    }
    const opensMs = left.map(({ waitsUntil }) => waitsUntil?.getTime() ?? 0)
    clock.advance(Math.max(60_000, Math.min(...opensMs) - clock.now().getTime()))
  }
  throw new Error('an upgrade does not end')
}

it('whatever people do meanwhile, upgrades of appliances keep their limits, install once, and end', async () => {
  /** Returns how many appliances have installed something. */
  async function play(played: readonly (readonly Step[])[]): Promise<number> {
    const world = await createWorld()
    await change(world, first)
    for (const step of played) {
      const before = await read(world)
      await Promise.all(step.map((one) => perform(world, one)))
      const after = await read(world)
      expectConsistent(after)
      expectRest(before, after)
      if (step.every(({ does }) => does === 'rename')) expect(withoutNames(after)).toEqual(withoutNames(before))
      await expectShown(world)
    }
    await finish(world)
    const ended = await read(world)
    expectConsistent(ended)
    expectTimes(ended)
    const { installs } = world.simulated
    expect([...installs].filter(([, times]) => times > 1)).toEqual([])
    return installs.size
  }
  // People may cancel every random upgrade before it installs anything.
  expect(await play([])).toBe(APPLIANCES)
  const property = fc.asyncProperty(steps, async (played) => void (await play(played)))
  // A failed run leaves upgrades behind, with which no shorter one can be tried.
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true })
})
