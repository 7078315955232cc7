import { beforeEach, describe, expect, it } from 'vitest'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import type { OrgUpgrade } from '../../../src/upgrades/org-upgrade.ts'
import { NEW, OLD } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([4, 4]))

const canary = { strategy: 'canary', canary_phases: [50] }

describe('devices that run the version already, but are in another upgrade', () => {
  const later = '2026-03-02T12:00:00Z'
  const keep = { versions: [OLD] }
  const notesOf = ({ siteUpgrades }: OrgUpgrade) =>
    siteUpgrades.flatMap(({ notes }) => notes.map(({ reason }) => reason))
  const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

  it('are left out as busy if that one is to give them another version', async () => {
    const old = await rollout.create({ version: NEW, start_datetime: later })
    const young = await rollout.create(keep)
    await expectConsistent(rollout.ctx)
    expect([countAll(young), statusOf(young)]).toEqual([{}, ['completed', 'completed']])
    expect(notesOf(young)).toEqual(times(8, expect.stringMatching(/^in upgrade /)))
    expect(countAll(await rollout.read(old.id))).toEqual({ planned: 8 })
  })

  it('are taken out of it by one that supersedes it, unless it has begun with them', async () => {
    const old = await rollout.create({ ...canary, version: NEW })
    await rollout.advance()
    await rollout.fleet.answer(() => 'fetches')
    await rollout.advance()
    const young = await rollout.create({ ...keep, supersede: true })
    await expectConsistent(rollout.ctx)
    expect([countAll(young), young.notes]).toEqual([
      { skipped: 4 },
      [{ reason: `4 devices are taken over from upgrade ${old.id}` }],
    ])
    expect(notesOf(young)).toEqual(times(4, expect.stringMatching(/^in upgrade .+, which has begun with it$/)))
    expect(countAll(await rollout.read(old.id))).toEqual({ downloading: 4, cancelled: 4 })
    const begun = rollout.devices().filter(({ id }) => rollout.fleet.attempts.has(id))
    await rollout.fleet.connect(begun, NEW)
    await rollout.play()
    await expectConsistent(rollout.ctx)
    expect(countAll(await rollout.read(old.id))).toEqual({ upgraded: 4, cancelled: 4 })
    expect([...rollout.fleet.attempts.keys()].toSorted()).toEqual(begun.map(({ id }) => id).toSorted())
    const reasons = await rollout.ctx.db
      .selectFrom('upgradeTarget')
      .select('reason')
      .where('state', '=', 'cancelled')
      .execute()
    expect(new Set(reasons.map(({ reason }) => reason))).toEqual(new Set([`taken over by upgrade ${young.id}`]))
  })

  it('are taken over beside others, and only the others are upgraded', async () => {
    const old = await rollout.create({ version: NEW, start_datetime: later })
    await rollout.fleet.connect(rollout.devices(0), NEW)
    const young = await rollout.create({ ...keep, supersede: true })
    await expectConsistent(rollout.ctx)
    expect(countAll(young)).toEqual({ planned: 4, skipped: 4 })
    expect(young.notes).toEqual([{ reason: `8 devices are taken over from upgrade ${old.id}` }])
    await rollout.advance()
    expect(statusOf(await rollout.read(old.id))).toEqual(['cancelled', 'cancelled'])
    const shown = await rollout.ctx.db
      .selectFrom('deviceUpgrade')
      .select(['deviceId', 'status'])
      .where('status', 'is not', null)
      .execute()
    expect(shown.map(({ deviceId }) => deviceId).toSorted()).toEqual(
      rollout
        .devices(0)
        .map(({ id }) => id)
        .toSorted(),
    )
  })

  it('are released without a deadlock while others take them in at once, and are in one upgrade at most', async () => {
    for (let round = 0; round < 6; round += 1) {
      await Promise.all([
        rollout.create({ version: NEW, supersede: true, start_datetime: later }),
        rollout.create({ ...keep, supersede: true }),
        rollout.create({ version: NEW, supersede: true, ...canary, start_datetime: later }),
        rollout.create({ ...keep, supersede: true, strategy: 'serial' }),
        rollout.advance(),
      ])
      await expectConsistent(rollout.ctx)
    }
    await rollout.create({ ...keep, supersede: true })
    rollout.clock.advance(24 * 3600_000)
    await rollout.play()
    await expectConsistent(rollout.ctx)
    expect(rollout.fleet.attempts.size).toBe(0)
  })

  it('count as right if that one leads to the same version', async () => {
    const old = await rollout.create({ ...keep, force: true, start_datetime: later })
    for (const supersede of [false, true]) {
      const young = await rollout.create({ ...keep, supersede })
      expect([countAll(young), notesOf(young), young.notes]).toEqual([{ skipped: 8 }, [], []])
    }
    expect(countAll(await rollout.read(old.id))).toEqual({ planned: 8 })
    await expectConsistent(rollout.ctx)
  })

  it('join an upgrade with include_new once the other one has given them another version', async () => {
    const absent = rollout.devices(1).slice(0, 1)
    const only = { all_sites: false, site_ids: [rollout.org.sites[0]?.id ?? ''] }
    const old = await rollout.create({ ...only, version: NEW })
    await rollout.fleet.connect(absent, NEW)
    await rollout.fleet.disconnect(absent)
    const young = await rollout.create({ ...keep, include_new: true })
    expect(countAll(young)).toEqual({ planned: 1, skipped: 3 })
    await rollout.play()
    expect(countAll(await rollout.read(old.id))).toEqual({ upgraded: 4 })
    rollout.clock.advance(61_000)
    await includeAll(rollout.ctx)
    await expectConsistent(rollout.ctx)
    const joined = await rollout.read(young.id)
    expect([countAll(joined), notesOf(joined)]).toEqual([{ deferred: 1, planned: 4, skipped: 3 }, []])
  })
})
