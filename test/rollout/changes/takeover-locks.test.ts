import { randomUUID } from 'node:crypto'
import { beforeEach, expect, it } from 'vitest'
import { shareUpgradesInFlight } from '../../../src/devices/commands/store-upgrades.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { lockOrgUpgrades } from '../../../src/rollout/store.ts'
import { openTx } from '../../support/database/open-tx.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { countAll, useRollout } from '../harness.ts'

const rollout = useRollout()
beforeEach(() => rollout.seed([4, 4]))

it('devices are taken over without a deadlock while their upgrades are read for commands of people', async () => {
  const { ctx, org } = rollout
  const ids = rollout
    .devices()
    .map(({ id }) => id)
    .toSorted()
  const [first = '', second = ''] = ids
  await ctx.db.updateTable('device').set({ name: 'old' }).where('id', '=', first).execute()
  await rollout.create({ rules: [{ match_name: 'old' }], start_datetime: '2026-03-02T12:00:00Z' })
  const other = await openTx(ctx, (tx) => shareUpgradesInFlight(tx, org.scope, ids.slice(-1)))
  const takeover = rollout.create({ supersede: true })
  await untilWaiting(rollout, 1)
  const reading = inTx(ctx, (tx) => shareUpgradesInFlight(tx, org.scope, [first, second]))
  await untilWaiting(rollout, 2)
  await other.commit()
  await reading
  expect(countAll(await takeover)).toEqual({ planned: 8 })
})

it('a device stays in its upgrade if that has begun with it while the takeover waited for the upgrade', async () => {
  const { ctx, org } = rollout
  const { id } = await rollout.create({ start_datetime: '2026-03-02T12:00:00Z' })
  const [begun] = rollout.devices()
  const round = await openTx(ctx, async (tx) => {
    await lockOrgUpgrades(tx, org.scope, [id])
    const begins = tx.updateTable('upgradeTarget').set({ commandId: randomUUID() })
    await begins.where('deviceId', '=', begun?.id ?? '').execute()
  })
  const takeover = rollout.create({ supersede: true })
  await untilWaiting(rollout, 1)
  await round.commit()
  expect(countAll(await takeover)).toEqual({ planned: 7 })
})
