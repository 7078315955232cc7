import { describe, expect, it } from 'vitest'
import { defaultMxedgeUpgradeOptions } from '../../../../src/mxedges/upgrades/options.ts'
import { advanceMxedgeUpgrades } from '../../../../src/mxedges/upgrades/worker.ts'
import { uploadPackage } from '../../../edge/upgrades/packages.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { addCluster } from '../../../support/fleets/mxedges.ts'
import type { TestOrg } from '../../../support/servers/server.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { expectConsistent, readUpgrades } from './expect-mxedge-upgrades.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'
import { type SimulatedAppliance, type SimulatedAppliances, simulateAppliances } from './simulated-appliances.ts'

const clock = createTestClock()
const given = useMxedgeUpgrades(clock)
const HOUR_MS = 3600e3

interface Fleet {
  readonly org: TestOrg
  readonly simulated: SimulatedAppliances
}

/** Appliances with tunterm 1.0.0 of an organization of their own; the first two are a cluster. */
async function addFleet(count: number): Promise<Fleet> {
  const org = await given.world.addOrg()
  await uploadPackage(given.world, '2.0.0', { org })
  const { id: mxcluster_id } = await addCluster(given.world, {}, org)
  const bodies = Array.from({ length: count }, (_, place) => ({
    name: `edge-${place}`,
    ...(place < 2 && { mxcluster_id }),
  }))
  return { org, simulated: await simulateAppliances(given.world, { org, bodies }) }
}

const call = async ({ org }: Fleet, method: string, path: string, body?: object): Promise<AnyJson> => {
  const answer = await given.world.call(method, `/orgs/${org.orgId}/mxedges/upgrade${path}`, { as: org, body })
  expect(answer.status).toBe(200)
  return answer.body
}

/** An upgrade that begins in an hour. */
const create = (fleet: Fleet, strategy: object): Promise<AnyJson> =>
  call(fleet, 'POST', '', {
    versions: { tunterm: '2.0.0' },
    start_time: clock.now().getTime() / 1000 + 3600,
    ...strategy,
  })

const advance = ({ org }: Fleet) => advanceMxedgeUpgrades(given.world.ctx, org.orgId, defaultMxedgeUpgradeOptions)

async function play(fleet: Fleet): Promise<void> {
  for (let rounds = 0; rounds < 60; rounds += 1) {
    clock.advance(30_000)
    await advance(fleet)
    await fleet.simulated.answer(() => 'obeys')
  }
}

/** Returns the appliances of each phase, in order. */
async function phasesOf({ org, simulated }: Fleet): Promise<SimulatedAppliance[][]> {
  const { targets } = await readUpgrades(given.world.ctx, org.orgId)
  const phases = Map.groupBy(targets, ({ phase }) => phase)
  return [...phases.keys()]
    .toSorted((a, b) => a - b)
    .map((phase) => {
      const inOrder = (phases.get(phase) ?? []).toSorted((a, b) => a.ordinal - b.ordinal)
      return inOrder.flatMap(({ mxedgeId }) => simulated.all.filter(({ id }) => id === mxedgeId))
    })
}

describe('a canary upgrade of appliances whose first ones are absent at its start', () => {
  it('begins with connected ones, notes that, and upgrades the others in their place', async () => {
    const fleet = await addFleet(6)
    const { id } = await create(fleet, { strategy: 'canary', canary_phases: [30, 60] })
    const planned = await phasesOf(fleet)
    const [[first, second] = [], [third] = []] = planned
    if (first === undefined || second === undefined || third === undefined) throw new Error('phases are missing')
    for (const one of [first, third]) await fleet.simulated.disconnect(one)
    await advance(fleet)
    expect(await phasesOf(fleet)).toEqual(planned)
    clock.advance(HOUR_MS)
    await advance(fleet)
    const [canaries = [], next = [], last = []] = await phasesOf(fleet)
    const replacement = planned[1]?.find((one) => one !== third)
    expect(new Set(canaries)).toEqual(new Set([replacement, second]))
    expect(new Set(next)).toEqual(new Set([first, third]))
    expect(last).toEqual(planned[2])
    const nameOf = async (one: SimulatedAppliance | undefined): Promise<string> =>
      (await call(fleet, 'GET', `/${id}/targets`)).find(({ mxedge_id }: AnyJson) => mxedge_id === one?.id).name
    expect((await call(fleet, 'GET', `/${id}`)).notes).toEqual([
      {
        reason: `connected edge appliances have taken the places of absent ones in phase 1: ${await nameOf(replacement)} for ${await nameOf(first)}`,
      },
    ])
    await play(fleet)
    // Nobody had to resume it, and only the absent ones are left.
    const { counts, held, notes } = await call(fleet, 'GET', `/${id}`)
    expect([counts.success, counts.queued, held]).toEqual([4, 2, undefined])
    expect(notes).toHaveLength(2)
    expectConsistent(await readUpgrades(given.world.ctx, fleet.org.orgId))
    for (const one of [first, third]) await fleet.simulated.connect(one)
    await play(fleet)
    expect((await call(fleet, 'GET', `/${id}`)).status).toBe('completed')
    expect([...fleet.simulated.installs.values()]).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('begins with connected ones in the next maintenance window if the present one is too short', async () => {
    const fleet = await addFleet(6)
    const timeIn = (ms: number) => new Date(clock.now().getTime() + ms).toISOString().slice(11, 16)
    const { id } = await create(fleet, {
      ...{ strategy: 'canary', canary_phases: [10] },
      maintenance_windows: [{ start: timeIn(-4 * HOUR_MS), end: timeIn(HOUR_MS + 600_000) }],
    })
    const [canaries = []] = await phasesOf(fleet)
    for (const one of canaries) await fleet.simulated.disconnect(one)
    clock.advance(HOUR_MS)
    await play(fleet)
    expect(await call(fleet, 'GET', `/${id}`)).toMatchObject({
      notes: [expect.anything()],
      waits_until: expect.any(Number),
    })
    clock.advance(20 * HOUR_MS)
    await play(fleet)
    const { counts, held } = await call(fleet, 'GET', `/${id}`)
    expect([counts.success, counts.queued, held]).toEqual([5, 1, undefined])
  })

  it('begins with others that are expected back after a start of the service', async () => {
    const fleet = await addFleet(6)
    const { id } = await create(fleet, { strategy: 'canary', canary_phases: [10] })
    const [canaries = []] = await phasesOf(fleet)
    for (const one of canaries) await fleet.simulated.disconnect(one)
    clock.advance(HOUR_MS)
    const { ctx } = given.world
    const lost = ctx.db.updateTable('mxedgeSession').set({ lostAt: clock.now() })
    await lost.where('orgId', '=', fleet.org.orgId).where('connected', '=', true).execute()
    await advance(fleet)
    for (const one of fleet.simulated.all) if (!canaries.includes(one)) await fleet.simulated.connect(one)
    await play(fleet)
    const { counts, held } = await call(fleet, 'GET', `/${id}`)
    expect([counts.success, counts.queued, held]).toEqual([5, 1, undefined])
  })

  it('waits at its gate without another one, and keeps the order of a serial one', async () => {
    const fleet = await addFleet(3)
    const { id } = await create(fleet, { strategy: 'canary', canary_phases: [30] })
    for (const one of fleet.simulated.all) await fleet.simulated.disconnect(one)
    clock.advance(HOUR_MS)
    await play(fleet)
    expect(await call(fleet, 'GET', `/${id}`)).toMatchObject({ notes: [], held: { by: 'gate' } })
    await call(fleet, 'POST', `/${id}/cancel`, {})
    await play(fleet)
    const serial = await addFleet(3)
    await create(serial, { strategy: 'serial' })
    const planned = await phasesOf(serial)
    for (const one of planned[0] ?? []) await serial.simulated.disconnect(one)
    clock.advance(HOUR_MS)
    await play(serial)
    expect(await phasesOf(serial)).toEqual(planned)
  })
})
