import { describe, expect, it, onTestFinished } from 'vitest'
import { systemSiteScope } from '../../../src/access/scope.ts'
import type { TargetState } from '../../../src/rollout/rollout.ts'
import { hasPendingStops } from '../../../src/rollout/stops/store.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { listFwUpdates } from '../../support/fleets/device-upgrades.ts'
import { NEW, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countOf, statusOf, useRollout } from '../harness.ts'

const rollout = useRollout()
const { advance, create, read, seed } = rollout

async function targetsIn(state: TargetState): Promise<SeededDevice[]> {
  const rows = await rollout.ctx.db.selectFrom('upgradeTarget').select('deviceId').where('state', '=', state).execute()
  return rollout.devices().filter(({ id }) => rows.some(({ deviceId }) => deviceId === id))
}

const listCancellations = () =>
  rollout.ctx.db.selectFrom('auditLog').select('after').where('message', 'like', 'Cancel%').execute()

describe('a cancelled upgrade', () => {
  it('commands nothing more; what has its image ends, and the record names it', async () => {
    await seed([4])
    const { id } = await create({ reboot_strategy: 'serial' })
    await advance()
    await rollout.fleet.answer()
    await advance()
    await rollout.fleet.answer(() => 'fetches')
    const [device] = await targetsIn('dl_requested')
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await advance()
    expect(countOf(await read(id))).toEqual({ upgraded: 1, downloading: 1, cancelled: 2 })
    await rollout.fleet.disconnect(device === undefined ? [] : [device])
    await rollout.fleet.connect(device === undefined ? [] : [device], NEW)
    await advance()
    expect(countOf(await read(id))).toEqual({ upgraded: 2, cancelled: 2 })
    expect(statusOf(await read(id))).toEqual(['cancelled'])
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect(await listCancellations()).toMatchObject([{ after: { in_flight_total: 1, in_flight: [device?.mac] } }])
    await expectConsistent(rollout.ctx)
  })

  it('that its failures stop already has failed, and nobody has cancelled it', async () => {
    await seed([4])
    const { id } = await create({ strategy: 'canary', canary_phases: [100], max_failure_percentage: 0 })
    await advance()
    const [first] = rollout.devices()
    await rollout.fleet.answer(({ id: device }) => (device === first?.id ? 'refuses_content' : 'fetches'))
    await advance()
    expect(countOf(await read(id))).toEqual({ failed: 1, downloading: 3 })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    const others = rollout.devices().filter((device) => device !== first)
    await rollout.fleet.disconnect(others)
    await rollout.fleet.connect(others, NEW)
    await advance()
    expect((await read(id)).siteUpgrades).toMatchObject([
      { status: 'failed', stopReason: 'more than 0 % of 4 devices in all sites failed' },
    ])
    expect(await listCancellations()).toEqual([])
  })

  it('that comes too late for every device has cancelled nothing', async () => {
    await seed([3])
    const { id } = await create()
    await advance()
    // The first device has executed its command without a download, as one that already had the image.
    await rollout.fleet.answer(({ id: device }) => (device === rollout.devices()[0]?.id ? 'does' : 'fetches'))
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    const macs = rollout.devices().map(({ mac }) => mac)
    expect(await listCancellations()).toMatchObject([{ after: { in_flight_total: 3, in_flight: macs.toSorted() } }])
    await advance()
    await rollout.fleet.disconnect(rollout.devices())
    await rollout.fleet.connect(rollout.devices(), NEW)
    await advance()
    const upgrade = await read(id)
    expect(countOf(upgrade)).toEqual({ upgraded: 3 })
    expect(upgrade.siteUpgrades).toMatchObject([{ status: 'completed', stopReason: null }])
  })

  it('cuts off downloads and takes back commands with its commit, before the engine looks', async () => {
    await seed([40])
    const { id } = await create()
    await advance()
    let fetched = 0
    await rollout.fleet.answer(() => (fetched++ < 3 ? 'fetches' : 'silent'))
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    const downloads = await rollout.ctx.db.selectFrom('firmwareDownload').select(['deliveredAt', 'fencedAt']).execute()
    expect(downloads.filter(({ deliveredAt }) => deliveredAt !== null)).toHaveLength(3)
    expect(downloads.filter(({ fencedAt }) => fencedAt !== null)).toHaveLength(37)
    await advance()
    expect(countOf(await read(id))).toEqual({ downloading: 3, cancelled: 37 })
    await expectConsistent(rollout.ctx)
  })

  it('takes back commands that have not left', async () => {
    await seed([2])
    const { id } = await create()
    await advance()
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    expect(await rollout.fleet.answer()).toBe(0)
    await advance()
    expect(countOf(await read(id))).toEqual({ cancelled: 2 })
    expect(statusOf(await read(id))).toEqual(['cancelled'])
    expect(await listFwUpdates(rollout.ctx.db)).toEqual([null, null])
  })

  it('ends before it has begun', async () => {
    await seed([2])
    const { id } = await create({ start_time: rollout.clock.now().getTime() / 1000 + 3600 })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await advance()
    expect(statusOf(await read(id))).toEqual(['cancelled'])
    expect(rollout.fleet.attempts.size).toBe(0)
  })
})

it('an upgrade of which every device failed has failed', async () => {
  await seed([40])
  const { id } = await create({ reboot_strategy: 'big_bang' })
  await rollout.play(() => 'refuses_content')
  expect(countOf(await read(id))).toEqual({ failed: 40 })
  expect(statusOf(await read(id))).toEqual(['failed'])
})

it('a site awaits the stops of its own upgrades alone', async () => {
  await seed([1, 1])
  const [first, second] = rollout.org.sites.map(({ id: siteId }) => siteId)
  const { id } = await create({ all_sites: false, site_ids: [first ?? ''] })
  await advance()
  await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  const { db, serviceClock } = rollout.ctx
  const { orgId } = rollout.org.scope
  const awaits = (siteId = '') =>
    hasPendingStops(db, systemSiteScope('operator', { orgId, siteId }), serviceClock.nowMs())
  expect([await awaits(first), await awaits(second)]).toEqual([true, false])
  expect(await hasPendingStops(db, rollout.org.scope, serviceClock.nowMs())).toBe(true)
  await advance()
  expect(await awaits(first)).toBe(false)
})

it('a cancelled upgrade releases its devices to an upgrade that is requested at the same moment', async () => {
  await seed([3])
  const first = await create()
  await advance()
  await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, first.id)
  // The engine of a server listens; only then is it awaited.
  onTestFinished(rollout.ctx.wakes.on('rollouts', () => undefined))
  const [second] = await Promise.all([create(), advance()])
  expect(countOf(second)).toEqual({ planned: 3 })
  await rollout.play()
  expect(countOf(await read(first.id))).toEqual({ cancelled: 3 })
  expect(countOf(await read(second.id))).toEqual({ upgraded: 3 })
  await expectConsistent(rollout.ctx)
})
