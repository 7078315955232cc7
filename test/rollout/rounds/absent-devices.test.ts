import { describe, expect, it } from 'vitest'
import { MODEL, NEW, OLD } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'
import { MIDDLE, seedHop } from '../hops/hop-images.ts'

const rollout = useRollout()
const HOUR_MS = 3600e3
const inAnHour = () => new Date(rollout.clock.now().getTime() + HOUR_MS).toISOString()

/** Returns the MACs of the devices of each phase, in order. */
async function phasesOf(id: string): Promise<string[][]> {
  const rows = await rollout.ctx.db
    .selectFrom('upgradeTarget as target')
    .innerJoin('siteUpgrade as part', (on) =>
      on.onRef('part.orgId', '=', 'target.orgId').onRef('part.id', '=', 'target.upgradeId'),
    )
    .select(['target.mac', 'target.phase'])
    .where('part.orgUpgradeId', '=', id)
    .orderBy('target.ordinal')
    .execute()
  const phases = Map.groupBy(rows, ({ phase }) => phase)
  return [...phases.keys()].toSorted((a, b) => a - b).map((phase) => phases.get(phase)?.map(({ mac }) => mac) ?? [])
}

const deviceOf = (mac: string | undefined) => rollout.devices().filter((device) => device.mac === mac)

describe('a canary upgrade whose first devices are absent at its start', () => {
  it('begins with connected ones of the same site, notes that, and upgrades the others in their place', async () => {
    await rollout.seed([8])
    const { id } = await rollout.create({ strategy: 'canary', canary_phases: [25, 50], start_datetime: inAnHour() })
    const [[first, second] = [], [third] = [], last = []] = await phasesOf(id)
    await rollout.fleet.disconnect([...deviceOf(first), ...deviceOf(third)])
    await rollout.advance()
    expect((await phasesOf(id))[0]).toEqual([first, second])
    rollout.clock.advance(HOUR_MS)
    await rollout.advance()
    const [canaries, next = [], others = []] = await phasesOf(id)
    const replacement = canaries?.find((mac) => mac !== second)
    expect(canaries).toHaveLength(2)
    expect(next).toContain(first)
    expect([next.length, others]).toEqual([2, last])
    await expectConsistent(rollout.ctx)
    expect((await rollout.read(id)).siteUpgrades.map(({ notes }) => notes)).toEqual([
      [
        {
          places: { phase: 1, count: 1, named: [`${replacement} for ${first}`] },
          reason: `connected devices have taken the places of absent ones in phase 1: ${replacement} for ${first}`,
        },
      ],
    ])
    await rollout.play()
    const ended = await phasesOf(id)
    expect(ended.map(({ length }) => length)).toEqual([2, 2, 4])
    // Nobody had to resume it, and only the absent ones are left.
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 6, deferred: 2 })
    expect(ended.at(-1)).toEqual(expect.arrayContaining([first, third]))
    await rollout.fleet.connect([...deviceOf(first), ...deviceOf(third)])
    rollout.clock.advance(5000)
    await rollout.play()
    await expectConsistent(rollout.ctx)
    expect(statusOf(await rollout.read(id))).toEqual(['completed'])
    expect([...rollout.fleet.flashes.values()]).toEqual(Array.from({ length: 8 }, () => 1))
  })

  it('begins with none that runs the version by now', async () => {
    await rollout.seed([4])
    const { id } = await rollout.create({ strategy: 'canary', canary_phases: [25, 50], start_datetime: inAnHour() })
    const [[first] = [], [second] = [], [third] = []] = await phasesOf(id)
    await rollout.fleet.disconnect([...deviceOf(first), ...deviceOf(second)])
    await rollout.fleet.connect(deviceOf(second), NEW)
    rollout.clock.advance(HOUR_MS)
    await rollout.advance()
    expect((await phasesOf(id)).slice(0, 2)).toEqual([[third], [second]])
    await expectConsistent(rollout.ctx)
  })

  it('begins with none that can not install the version by now', async () => {
    await rollout.seed([4], { online: false })
    await seedHop(rollout, MODEL)
    await rollout.fleet.connect(rollout.devices(), `${MIDDLE}-stock`)
    const canary = { strategy: 'canary', canary_phases: [25, 50], version: NEW }
    const { id } = await rollout.create({ ...canary, start_datetime: inAnHour() })
    const [[first] = [], [second] = [], [third, fourth] = []] = await phasesOf(id)
    await rollout.fleet.disconnect([...deviceOf(first), ...deviceOf(second)])
    await rollout.fleet.connect(deviceOf(second), OLD)
    rollout.clock.advance(HOUR_MS)
    await rollout.advance()
    expect(await phasesOf(id)).toEqual([[third], [second], [first, fourth]])
    await expectConsistent(rollout.ctx)
  })

  it('has one note, also if devices leave again and again while the phase waits for its places', async () => {
    await rollout.seed([6])
    const { id } = await rollout.create({ strategy: 'canary', canary_phases: [50], max_in_flight: 1 })
    await rollout.advance()
    for (let times = 0; times < 4; times += 1) {
      const [phase = []] = await phasesOf(id)
      await rollout.fleet.disconnect(deviceOf(phase.at(-1)))
      rollout.clock.advance(5000)
      await rollout.advance()
      await rollout.fleet.connect(deviceOf(phase.at(-1)))
      await rollout.advance()
    }
    const [{ notes } = { notes: [] }] = (await rollout.read(id)).siteUpgrades
    expect(notes).toMatchObject([{ places: { phase: 1, count: 4 } }])
    await expectConsistent(rollout.ctx)
  })

  it('waits at its gate where the site has no other device, and keeps the devices of groups', async () => {
    await rollout.seed([1, 4])
    const site = rollout.org.sites[0]?.id ?? ''
    const groups = { canary_groups: [{ site_ids: [site] }] }
    const { id } = await rollout.create({ strategy: 'canary', ...groups, start_datetime: inAnHour() })
    const planned = await phasesOf(id)
    await rollout.fleet.disconnect(rollout.devices(0))
    rollout.clock.advance(HOUR_MS)
    await rollout.play()
    expect(await phasesOf(id)).toEqual(planned)
    expect(countAll(await rollout.read(id))).toEqual({ deferred: 1, planned: 4 })
  })
})
