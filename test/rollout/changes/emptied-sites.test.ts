import { beforeEach, describe, expect, it } from 'vitest'
import { deleteDevices } from '../../../src/devices/store.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { excludeDevices } from '../../../src/upgrades/changes/exclude-devices.ts'
import { listLiveUpgrades } from '../../../src/upgrades/live/store.ts'
import { presentLiveUpgrade } from '../../../src/upgrades/live/wire.ts'
import { getOverview } from '../../../src/upgrades/overview/store.ts'
import { presentOverview } from '../../../src/upgrades/overview/wire.ts'
import { readReport } from '../../../src/upgrades/reports/read-report.ts'
import { getReported } from '../../../src/upgrades/reports/store.ts'
import { presentSummary } from '../../../src/upgrades/reports/wire.ts'
import { listOrgUpgrades } from '../../../src/upgrades/store.ts'
import { presentOrgUpgradeItem } from '../../../src/upgrades/wire.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { useRollout } from '../harness.ts'

const rollout = useRollout()
const note = 'the site is closed'

async function exclude(id: string, site: number): Promise<void> {
  const macs = rollout.devices(site).map(({ mac }) => mac)
  await excludeDevices(rollout.ctx, rollout.org.scope, { id, macs, note })
}

/** The status of the upgrade wherever it is shown, each one once, and why it stopped. */
async function readWhole(id: string) {
  await expectConsistent(rollout.ctx)
  const { ctx, org } = rollout
  const overview = presentOverview(await getOverview(ctx.db, org.scope, { id, at: ctx.clock.now() }))
  const { summary } = await readReport(ctx.db, org.scope, await getReported(ctx.db, org.scope, id))
  const listed = await listOrgUpgrades(ctx.db, org.scope, { limit: 10, page: 1 })
  const live = await listLiveUpgrades(ctx.db, org.scope, [id])
  const events = await ctx.db.selectFrom('upgradeEvent').select('event').where('orgUpgradeId', '=', id).execute()
  const statuses = [
    overview.status,
    presentSummary(summary).status,
    ...listed.rows.map((item) => presentOrgUpgradeItem(item).status),
    ...live.map((one) => presentLiveUpgrade(one).status),
    ...events.flatMap(({ event }) => (event.type === 'UPGRADE_ENDED' ? [event.status] : [])),
  ]
  return { statuses: [...new Set(statuses)], shown: statuses.length, reason: overview.stop_reason }
}

it('an upgrade whose devices have all left is cancelled, and says why', async () => {
  const devices = await rollout.seed([1, 2])
  const { id } = await rollout.create({ strategy: 'big_bang', start_datetime: '2026-03-02T12:00:00Z' })
  const ids = devices.map((device) => device.id)
  await inTx(rollout.ctx, (tx) => deleteDevices(tx, rollout.org.scope, ids))
  rollout.clock.advance(24 * 3600_000)
  await rollout.play()
  const reason = 'no device is left to upgrade; see the reason of each'
  expect(await readWhole(id)).toEqual({ statuses: ['cancelled'], shown: 5, reason })
})

it('a site whose devices have all left does not say why another one has failed', async () => {
  const [fails, leaves] = await rollout.seed([1, 1])
  const { id } = await rollout.create({ strategy: 'big_bang' })
  await inTx(rollout.ctx, (tx) => deleteDevices(tx, rollout.org.scope, leaves === undefined ? [] : [leaves.id]))
  await rollout.play((device) => (device.id === fails?.id ? 'refuses_content' : 'upgrades'))
  expect(await readWhole(id)).toEqual({ statuses: ['failed'], shown: 5, reason: undefined })
})

describe('a site whose devices have all been excluded', () => {
  beforeEach(() => rollout.seed([1, 2]))

  it('leaves the status of the whole upgrade to the other sites', async () => {
    const { id } = await rollout.create({ strategy: 'big_bang' })
    await exclude(id, 1)
    await rollout.play()
    expect(await readWhole(id)).toEqual({ statuses: ['completed'], shown: 5, reason: undefined })
  })

  it('makes it cancelled if no other site has a result', async () => {
    const { id } = await rollout.create({ strategy: 'big_bang' })
    await exclude(id, 0)
    await exclude(id, 1)
    await rollout.play()
    const reason = `excluded by ${rollout.org.scope.actor.name}: ${note}`
    expect(await readWhole(id)).toEqual({ statuses: ['cancelled'], shown: 5, reason })
  })

  it('does not hide why another site was cancelled', async () => {
    const { id } = await rollout.create({ strategy: 'big_bang', start_datetime: '2026-03-02T12:00:00Z' })
    await exclude(id, 0)
    await rollout.play()
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
    await rollout.play()
    const reason = `cancelled by ${rollout.org.scope.actor.name}`
    expect(await readWhole(id)).toEqual({ statuses: ['cancelled'], shown: 5, reason })
  })
})
