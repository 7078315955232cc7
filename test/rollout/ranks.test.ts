// The order of restarts at a site, as the engine enforces it.
import { expect, it } from 'vitest'
import { json } from '../../src/platform/database/db.ts'
import type { SeededDevice } from '../support/fleets/fleet.ts'
import { expectConsistent } from './expect-consistent.ts'
import { countAll, useRollout } from './harness.ts'

const rollout = useRollout()

/** Two access points, two switches and a gateway at one site; the second switch hangs on the first one. */
async function seedBranch(how?: { readonly online: boolean }) {
  await rollout.seed([2, { devices: 2, type: 'switch' }, { devices: 1, type: 'gateway' }], how)
  const [aps, switches, gateways] = [rollout.devices(0), rollout.devices(1), rollout.devices(2)]
  const { db } = rollout.ctx
  const siteId = rollout.org.sites[0]?.id ?? ''
  await db.updateTable('device').set({ siteId }).execute()
  const [core, edge] = switches
  const [gateway] = gateways
  if (core === undefined || edge === undefined || gateway === undefined) throw new Error('not seeded')
  const neighbors = [edge, gateway].map(({ mac }) => ({ port: 'ge-0', mac, forwards: true }))
  const report = { unit: {}, radios: [], ports: [], interfaces: [], neighbors }
  const key = { orgId: rollout.org.scope.orgId, deviceId: core.id, siteId }
  const clients = json({ wireless: [], wired: [] })
  await db
    .insertInto('deviceReport')
    .values({ ...key, reportedAt: rollout.clock.now(), reportedMs: 0, report: json(report), clients, bucket: null })
    .execute()
  return { aps, core, edge, gateway }
}

/** Rounds until nothing happens; the devices that are commanded, round by round. */
async function playRounds(): Promise<string[][]> {
  const rounds: string[][] = []
  for (let quiet = 0; quiet < 3;) {
    const before = new Map(rollout.fleet.attempts)
    await rollout.advance()
    await rollout.fleet.answer()
    await expectConsistent(rollout.ctx)
    const sent = rollout.devices().filter(({ id }) => rollout.fleet.attempts.get(id) !== before.get(id))
    if (sent.length > 0) rounds.push(sent.map(({ id }) => id))
    quiet = sent.length > 0 ? 0 : quiet + 1
    rollout.clock.advance(1000)
  }
  return rounds
}

const idsOf = (...devices: SeededDevice[]): string[] => devices.map(({ id }) => id)

it.each(['big_bang', 'serial'] as const)('is from the edge to the gateway with %s', async (strategy) => {
  const { aps, core, edge, gateway } = await seedBranch()
  const { id, siteUpgrades } = await rollout.create({ strategy })
  const reason =
    'Devices restart before those that they depend on: 2 of the type ap, then 1 of the type switch, then 1 of the type switch, then 1 of the type gateway'
  expect(siteUpgrades.flatMap(({ notes }) => notes)).toContainEqual({ reason })
  const rounds = await playRounds()
  expect(rounds.flat().slice(0, 2).toSorted()).toEqual(idsOf(...aps).toSorted())
  expect(rounds.flat().slice(2)).toEqual(idsOf(edge, core, gateway))
  expect(rounds).toHaveLength(strategy === 'serial' ? 5 : 4)
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 5 })
})

it('does not wait for absent devices, and devices that return wait for their uplinks', async () => {
  const { aps, core, edge, gateway } = await seedBranch({ online: false })
  await rollout.fleet.connect([edge, core, gateway])
  const { id } = await rollout.create({ strategy: 'big_bang' })
  await rollout.advance()
  await rollout.advance()
  // The edge switch is commanded; the access points that hang on it are back before it has restarted.
  await rollout.fleet.connect(aps)
  const rounds = await playRounds()
  expect(rounds.map((one) => one.toSorted())).toEqual([
    idsOf(edge),
    idsOf(...aps).toSorted(),
    idsOf(core),
    idsOf(gateway),
  ])
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 5 })
})
