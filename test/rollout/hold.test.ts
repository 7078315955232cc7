import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RolloutOptions, defaultRolloutOptions } from '../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../src/rollout/worker.ts'
import { cancelOrgUpgrade } from '../../src/upgrades/cancel-org-upgrade.ts'
import { createOrgUpgrade } from '../../src/upgrades/create-org-upgrade.ts'
import type { SiteUpgrade } from '../../src/upgrades/org-upgrade.ts'
import { pauseOrgUpgrade } from '../../src/upgrades/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../src/upgrades/resume-org-upgrade.ts'
import { getOrgUpgrade } from '../../src/upgrades/store.ts'
import { parseOrgUpgrade } from '../../src/upgrades/wire-parse.ts'
import type { OrgUpgradeBody } from '../../src/upgrades/wire.ts'
import { type Fleet, type Reply, type SeededOrg, createFleet, seedOrg } from '../support/fleet.ts'
import { type TestContext, createTestContext } from '../support/server.ts'
import { type TestClock, createTestClock } from '../support/test-clock.ts'
import { expectConsistent } from './expect-consistent.ts'

const options: RolloutOptions = { ...defaultRolloutOptions, soakMs: 0 }

let clock: TestClock
let test: TestContext
let org: SeededOrg
let fleet: Fleet
beforeEach(async () => {
  clock = createTestClock()
  test = await createTestContext(clock)
  org = await seedOrg(test.ctx, [{ devices: 40, name: 'Lab' }])
  fleet = createFleet(test.ctx, [org])
})
afterEach(() => test.close())

const devicesOf = () => org.sites.flatMap((site) => site.devices)
const advance = () => advanceRollouts(test.ctx, options, new AbortController().signal)

async function create(scope: 'org' | 'site'): Promise<string> {
  const phases = { canary_phases: [5, 100], phase_scope: scope }
  const body: OrgUpgradeBody = { all_sites: true, reboot_strategy: 'canary', ...phases }
  return (await createOrgUpgrade(test.ctx, org.scope, parseOrgUpgrade(body))).id
}

async function read(id: string): Promise<Pick<SiteUpgrade, 'status' | 'hold'> & { counts: Record<string, number> }> {
  const [site] = (await getOrgUpgrade(test.ctx.db, org.scope, id)).siteUpgrades
  if (site === undefined) throw new Error('no site upgrade')
  const counts = Object.entries(site.targets).map(([state, macs]) => [state, macs.length])
  return { status: site.status, hold: site.hold, counts: Object.fromEntries(counts) }
}

async function play(reply: Reply = 'upgrades'): Promise<void> {
  for (let quiet = 0; quiet < 3;) {
    clock.advance(1000)
    await advance()
    quiet = (await fleet.answer(() => reply)) === 0 ? quiet + 1 : 0
    await expectConsistent(test.ctx)
  }
}

async function auditsLike(pattern: string): Promise<string[]> {
  const rows = await test.ctx.db.selectFrom('auditLog').select('message').where('message', 'like', pattern).execute()
  return rows.map(({ message }) => message)
}

describe.each(['org', 'site'] as const)('with phases of the %s', (scope) => {
  it('an upgrade is held at the gate of a phase in which too many failed, tells of it, and goes on when it is resumed', async () => {
    await fleet.connect(devicesOf())
    const id = await create(scope)
    await advance()
    let first = true
    await fleet.answer(() => {
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
    await resumeOrgUpgrade(test.ctx, org.scope, id)
    await play()
    expect(await read(id)).toEqual({ status: 'completed', hold: null, counts: { upgraded: 39, failed: 1 } })
    await resumeOrgUpgrade(test.ctx, org.scope, id)
    expect(await auditsLike('Resume%')).toHaveLength(1)
  })

  it('an upgrade is held at the gate of a phase in which no device was upgraded', async () => {
    const id = await create(scope)
    await play()
    await fleet.connect(devicesOf())
    await play()
    const reason = '0 of 2 devices of phase 1 were upgraded'
    expect(await read(id)).toMatchObject({ hold: { by: 'gate', reason }, counts: { deferred: 2, planned: 38 } })
    expect(fleet.attempts.size).toBe(0)
    await resumeOrgUpgrade(test.ctx, org.scope, id)
    await play()
    expect(await read(id)).toEqual({ status: 'completed', hold: null, counts: { upgraded: 40 } })
  })

  it('a pause takes back what has not left, and commands it again when it is resumed', async () => {
    await fleet.connect(devicesOf())
    const id = await create(scope)
    await advance()
    await pauseOrgUpgrade(test.ctx, org.scope, id)
    await pauseOrgUpgrade(test.ctx, org.scope, id)
    await play()
    expect(await read(id)).toMatchObject({ hold: { by: 'user' }, counts: { planned: 40 } })
    expect(fleet.attempts.size).toBe(0)
    expect(await auditsLike('Pause%')).toHaveLength(1)
    await resumeOrgUpgrade(test.ctx, org.scope, id)
    await play()
    expect(await read(id)).toEqual({ status: 'completed', hold: null, counts: { upgraded: 40 } })
    expect([...fleet.attempts.values()].every((count) => count === 1)).toBe(true)
  })

  it('a pause lets what is under way end, and opens no phase', async () => {
    await fleet.connect(devicesOf())
    const id = await create(scope)
    await advance()
    await fleet.answer()
    await pauseOrgUpgrade(test.ctx, org.scope, id)
    await play()
    expect(await read(id)).toMatchObject({ status: 'upgrading', counts: { upgraded: 2, planned: 38 } })
    await resumeOrgUpgrade(test.ctx, org.scope, id)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 40 })
  })

  it('a paused upgrade waits that much longer for absent devices', async () => {
    await fleet.connect(devicesOf().slice(1))
    const id = await create(scope)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 39, deferred: 1 })
    await pauseOrgUpgrade(test.ctx, org.scope, id)
    clock.advance(100 * 3600e3)
    await play()
    await resumeOrgUpgrade(test.ctx, org.scope, id)
    await play()
    expect((await read(id)).counts).toEqual({ upgraded: 39, deferred: 1 })
    clock.advance(72 * 3600e3)
    await play()
    expect(await read(id)).toMatchObject({ status: 'completed', counts: { upgraded: 39, failed: 1 } })
  })

  it('a paused upgrade ends when it is cancelled', async () => {
    await fleet.connect(devicesOf())
    const id = await create(scope)
    await pauseOrgUpgrade(test.ctx, org.scope, id)
    await play()
    await cancelOrgUpgrade(test.ctx, org.scope, id)
    await play()
    expect(await read(id)).toEqual({ status: 'cancelled', hold: null, counts: { cancelled: 40 } })
    await pauseOrgUpgrade(test.ctx, org.scope, id)
    expect((await read(id)).hold).toBeNull()
  })
})
