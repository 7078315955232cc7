import { beforeEach, describe, expect, it } from 'vitest'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { watchUpgrades } from '../../../src/upgrades/alarms/watch-upgrades.ts'
import type { SiteUpgrade } from '../../../src/upgrades/org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import type { Reply } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countOf, useRollout } from '../harness.ts'

const rollout = useRollout()
const { advance } = rollout
beforeEach(() => rollout.seed([{ devices: 40, name: 'Lab' }], { online: false }))

async function create(scope: 'org' | 'site'): Promise<string> {
  const phases = { canary_phases: [5, 100], phase_scope: scope }
  return (await rollout.create({ reboot_strategy: 'canary', ...phases })).id
}

async function read(id: string): Promise<Pick<SiteUpgrade, 'status' | 'hold'> & { counts: Record<string, number> }> {
  const upgrade = await rollout.read(id)
  const [site] = upgrade.siteUpgrades
  if (site === undefined) throw new Error('no site upgrade')
  return { status: site.status, hold: site.hold, counts: countOf(upgrade) }
}

async function play(reply: Reply = 'upgrades'): Promise<void> {
  for (let quiet = 0; quiet < 3;) {
    rollout.clock.advance(1000)
    await advance()
    quiet = (await rollout.fleet.answer(() => reply)) === 0 ? quiet + 1 : 0
    await expectConsistent(rollout.ctx)
  }
}

async function auditsLike(pattern: string): Promise<string[]> {
  const rows = await rollout.ctx.db.selectFrom('auditLog').select('message').where('message', 'like', pattern).execute()
  return rows.map(({ message }) => message)
}

async function watchedAlarms() {
  await watchUpgrades(rollout.ctx)
  await watchUpgrades(rollout.ctx)
  return rollout.ctx.db.selectFrom('alarm').selectAll().execute()
}

describe.each(['org', 'site'] as const)('with phases of the %s', (scope) => {
  it('an upgrade is held at the gate of a phase with too many failures, reports it, and continues after a resume', async () => {
    await rollout.fleet.connect(rollout.devices())
    const id = await create(scope)
    await advance()
    let first = true
    await rollout.fleet.answer(() => {
      const reply = first ? 'keeps_old' : 'upgrades'
      first = false
      return reply
    })
    await play()
    const reason = '1 of 2 devices of phase 1 failed, more than 5 %'
    expect(await read(id)).toMatchObject({
      status: 'upgrading',
      hold: { by: 'gate', reason },
      counts: { upgraded: 1, failed: 1, planned: 38 },
    })
    expect(await auditsLike('%held%')).toEqual([
      scope === 'site' ? `Upgrade ${id} held at site "Lab": ${reason}` : `Upgrade ${id} held: ${reason}`,
    ])
    expect(await watchedAlarms()).toMatchObject([
      { type: 'upgrade_held', subject: id, endedAt: null, text: expect.stringContaining(reason) },
    ])
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect(await watchedAlarms()).toMatchObject([{ type: 'upgrade_held', endedAt: expect.any(Date) }])
    await play()
    expect(await read(id)).toEqual({ status: 'completed', hold: null, counts: { upgraded: 39, failed: 1 } })
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect(await auditsLike('Resume%')).toHaveLength(1)
  })

  it('an upgrade is held at the gate of a phase in which no device was upgraded', async () => {
    const id = await create(scope)
    await play()
    await rollout.fleet.connect(rollout.devices())
    await play()
    const reason = '0 of 2 devices of phase 1 were upgraded'
    expect(await read(id)).toMatchObject({ hold: { by: 'gate', reason }, counts: { deferred: 2, planned: 38 } })
    expect(rollout.fleet.attempts.size).toBe(0)
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect(await read(id)).toEqual({ status: 'completed', hold: null, counts: { upgraded: 40 } })
  })

  it('an upgrade that a person pauses at a gate waits there again after it is resumed', async () => {
    const id = await create(scope)
    await play()
    await rollout.fleet.connect(rollout.devices())
    await play()
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect(await auditsLike('Pause%')).toHaveLength(1)
    const reason = '0 of 2 devices of phase 1 were upgraded'
    expect(await read(id)).toMatchObject({
      hold: { by: 'user', reason: `paused by ${rollout.org.scope.actor.name} (before: ${reason})` },
    })
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    const retried = await rollout.read(id)
    expect(retried.approvals).toEqual([])
    await play()
    expect(await read(id)).toMatchObject({ status: 'completed', hold: null, counts: { upgraded: 40 } })
  })

  it('a pause takes back what has not left, and commands it again when it is resumed', async () => {
    await rollout.fleet.connect(rollout.devices())
    const id = await create(scope)
    await advance()
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect(await read(id)).toMatchObject({ hold: { by: 'user' }, counts: { planned: 40 } })
    expect(rollout.fleet.attempts.size).toBe(0)
    expect(await auditsLike('Pause%')).toHaveLength(1)
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect(await read(id)).toEqual({ status: 'completed', hold: null, counts: { upgraded: 40 } })
    expect([...rollout.fleet.attempts.values()].every((count) => count === 1)).toBe(true)
  })

  it('a pause lets what is under way end, and opens no phase', async () => {
    await rollout.fleet.connect(rollout.devices())
    const id = await create(scope)
    await advance()
    await rollout.fleet.answer()
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect(await read(id)).toMatchObject({ status: 'upgrading', counts: { upgraded: 2, planned: 38 } })
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 40 })
  })

  it('a paused upgrade waits that much longer for absent devices', async () => {
    await rollout.fleet.connect(rollout.devices().slice(1))
    const id = await create(scope)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 39, deferred: 1 })
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    rollout.clock.advance(100 * 3600e3)
    await play()
    await resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 39, deferred: 1 })
    rollout.clock.advance(72 * 3600e3)
    await play()
    expect(await read(id)).toMatchObject({ status: 'completed', counts: { upgraded: 39, failed: 1 } })
  })

  it('a cancelled upgrade whose devices still install is not paused', async () => {
    await rollout.fleet.connect(rollout.devices())
    const id = await create(scope)
    await advance()
    await rollout.fleet.answer(() => 'fetches')
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect([(await read(id)).hold, await auditsLike('Pause%')]).toEqual([null, []])
  })

  it('a paused upgrade ends when it is cancelled', async () => {
    await rollout.fleet.connect(rollout.devices())
    const id = await create(scope)
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await play()
    expect(await read(id)).toEqual({ status: 'cancelled', hold: null, counts: { cancelled: 40 } })
    await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect((await read(id)).hold).toBeNull()
  })
})
