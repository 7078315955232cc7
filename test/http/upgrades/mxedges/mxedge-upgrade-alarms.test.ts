import { expect, it } from 'vitest'
import { watchAlarms } from '../../../../src/app/alarm-watch.ts'
import { upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const clock = createTestClock()
const given = useMxedgeUpgrades(clock)

async function watch(upgradeId: string) {
  clock.advance(1000)
  await watchAlarms(given.world.ctx)
  const rows = await given.world.ctx.db
    .selectFrom('alarm')
    .select(['type', 'siteId', 'count', 'text', 'endedAt'])
    .where('subject', '=', upgradeId)
    .orderBy('id')
    .execute()
  return rows.map(({ type, siteId, count, text, endedAt }) => ({ type, siteId, count, text, open: endedAt === null }))
}

it('an upgrade that fails has an alarm, which counts up once it has failed again after a retry', async () => {
  const { id } = await upgrade(given.world, given.tunterm())
  await given.play(given.boxes)
  const failed = { type: 'upgrade_failed', siteId: null, text: 'The upgrade of edge appliances failed', count: 1 }
  expect(await watch(id)).toMatchObject([failed])
  expect(await watch(id)).toMatchObject([failed])
  expect(await given.act(id, 'retry')).toMatchObject({ status: 200, body: { retried: 3 } })
  expect(await watch(id)).toMatchObject([failed])
  await given.play(given.boxes)
  expect(await watch(id)).toMatchObject([{ ...failed, count: 2 }])
})

it('one whose retry succeeds has no further alarm, though it lacks those that its stop has cancelled', async () => {
  const { id } = await upgrade(given.world, given.tunterm({ strategy: 'serial', max_failure_percentage: 0 }))
  await given.play((await given.idsBy(id, 'queued')).slice(0, 1))
  expect(await watch(id)).toMatchObject([{ type: 'upgrade_failed', count: 1 }])
  await given.act(id, 'retry')
  await given.play()
  expect(await watch(id)).toMatchObject([{ type: 'upgrade_failed', count: 1 }])
})

it('one that waits at a gate has an alarm until it is resumed, and none while a person has paused it', async () => {
  const canary = { strategy: 'canary', canary_phases: [1, 100], max_failure_percentage: 60 }
  const { id } = await upgrade(given.world, given.tunterm(canary))
  await given.act(id, 'pause')
  expect(await watch(id)).toEqual([])
  await given.act(id, 'resume')
  await given.play(await given.idsBy(id, 'queued'))
  const text =
    'The upgrade of edge appliances is held: 1 of 1 edge appliances of phase 1 failed, more than 60 %; resume it to open the next phase, or cancel it'
  expect(await watch(id)).toMatchObject([{ type: 'upgrade_held', text, open: true }])
  await given.act(id, 'resume')
  expect(await watch(id)).toMatchObject([{ type: 'upgrade_held', open: false }])
})

it('one that waits has its present name in its alarm, and the approvals that are missing now', async () => {
  const gate = { phase: 0, wait_for: 'approval', approvals: 2 }
  const { id } = await upgrade(given.world, given.tunterm({ name: 'Tunnels', phase_gates: [gate] }))
  const waits = (name: string, missing: number) =>
    `The upgrade "${name}" of edge appliances is held: its start waits for ${missing} of 2 approvals by different people; approve or cancel it`
  expect(await watch(id)).toMatchObject([{ text: waits('Tunnels', 2) }])
  await given.act(id, 'approve', { phase: 0 })
  const path = `/orgs/${given.world.org.orgId}/mxedges/upgrade/${id}`
  expect((await given.world.call('PUT', path, { body: { name: 'Friday' } })).status).toBe(200)
  expect(await watch(id)).toMatchObject([{ text: waits('Friday', 1), count: 1, open: true }])
})
