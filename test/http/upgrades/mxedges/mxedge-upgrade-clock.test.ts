import { expect, test } from 'vitest'
import { recordMxedgeConnects } from '../../../../src/mxedges/sessions/record-connect.ts'
import type { MxedgeReport } from '../../../../src/mxedges/sessions/facts.ts'
import { defaultMxedgeUpgradeOptions } from '../../../../src/mxedges/upgrades/options.ts'
import { advanceMxedgeUpgrades } from '../../../../src/mxedges/upgrades/worker.ts'
import type { Context } from '../../../../src/platform/context.ts'
import { json } from '../../../../src/platform/database/db.ts'
import { find, running, targetsOf, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import { hello } from '../../../edge/world.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

// A clock that runs would start the upgrade after the instant of its first round.
const given = useMxedgeUpgrades(createTestClock())
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const options = { ...defaultMxedgeUpgradeOptions, soakMs: 5 * MINUTE }

test.each([HOUR, -HOUR])('a clock that is set by %i ms leaves the soak as long as it is', async (steppedMs) => {
  const { world, boxes } = given
  const startMs = world.ctx.clock.now().getTime()
  let [passedMs, shiftedMs] = [0, 0]
  const ctx: Context = {
    ...world.ctx,
    clock: { now: () => new Date(startMs + passedMs + shiftedMs) },
    serviceClock: { nowMs: () => startMs + passedMs, listeningSinceMs: () => 0 },
  }
  const { orgId } = world.org
  const [mxedgeId = ''] = boxes
  const { report: _, ...said } = hello
  const reconnect = (version: string) =>
    recordMxedgeConnects(ctx, mxedgeId, {
      openings: [
        {
          mxedgeId,
          registrationEpoch: 1,
          keySha256: mxedgeId.replaceAll('-', ''),
          certificateExpiresAt: new Date('2036-01-01T00:00:00Z'),
          facts: { ...said, methods: [...said.methods, 'service.upgrade'], ext_ip: null },
          report: running(version) as MxedgeReport,
        },
      ],
      isRepeated: false,
    })
  const round = () => advanceMxedgeUpgrades(ctx, orgId, options)
  expect((await reconnect('1.0.0')).opened).toHaveLength(1)
  const { id } = await upgrade(world, { mxedge_ids: [mxedgeId], versions: { tunterm: '2.0.0' } })
  await round()
  await ctx.db
    .updateTable('mxedgeCommand')
    .set({ state: 'done', finishedAt: ctx.clock.now() })
    .where('mxedgeId', '=', mxedgeId)
    .where('upgradeId', '=', id)
    .execute()
  await ctx.db
    .updateTable('mxedgeSession')
    .set({ report: json(running('2.0.0') as MxedgeReport) })
    .where('mxedgeId', '=', mxedgeId)
    .execute()
  await round()
  passedMs += 4 * MINUTE
  expect((await reconnect('2.0.0')).opened).toHaveLength(1)
  shiftedMs += steppedMs
  passedMs += 4 * MINUTE
  await round()
  expect((await targetsOf(world, id))[0]).not.toMatchObject({ status: 'success' })
  passedMs += MINUTE
  await round()
  expect((await targetsOf(world, id))[0]).toMatchObject({ status: 'success' })
  expect(await find(world, id)).toMatchObject({ status: 'completed' })
})
