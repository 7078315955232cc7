import type { Updateable } from 'kysely'
import { expect, test } from 'vitest'
import type { MxedgeCommandTable } from '../../../../src/mxedges/tables.ts'
import { defaultMxedgeUpgradeOptions } from '../../../../src/mxedges/upgrades/options.ts'
import { advanceMxedgeUpgrades } from '../../../../src/mxedges/upgrades/worker.ts'
import { json } from '../../../../src/platform/database/db.ts'
import { epochS } from '../../../../src/platform/time/clock.ts'
import { includeAllMxedges } from '../../../../src/upgrades/mxedges/include-new.worker.ts'
import { addBox, find, pathOf, running, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import { createKillSwitch } from '../../../rollout/crashes/kill-switch.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { addSite } from '../../../support/fleets/devices.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const clock = createTestClock()
const given = useMxedgeUpgrades(clock)

const HOUR_MS = 3600e3
const inHours = (hours: number): number => epochS(clock.now()) + 3600 * hours
const reasonOf = (endS: number): string => `ended at its end_time, ${new Date(1000 * endS).toISOString()}`
const put = (id: string, body: object) => given.world.call('PUT', `${pathOf(given.world)}/${id}`, { body })
/** A round begins commands, or stops; the appliances do not answer. */
const round = () => advanceMxedgeUpgrades(given.world.ctx, given.world.org.orgId, defaultMxedgeUpgradeOptions)

/** The messages of the audit log about an upgrade, and the types of its changes, the latest first. */
async function recordsOf(id: string): Promise<unknown[][]> {
  const { body } = await given.world.call('GET', `/orgs/${given.world.org.orgId}/logs?message=${id}`)
  return body.results.map(({ message, after }: AnyJson) => [message, after.type, after.reason])
}

const setCommands = (id: string, change: Updateable<MxedgeCommandTable>) =>
  given.world.ctx.db.updateTable('mxedgeCommand').set(change).where('upgradeId', '=', id).execute()

const overviewOf = async (id: string, place = `/orgs/${given.world.org.orgId}`): Promise<AnyJson> =>
  (await given.world.call('GET', `${place}/upgrades/${id}`)).body

test('one that a limit has stopped is not stopped again when a retry succeeds, though it lacks the others', async () => {
  const { id } = await upgrade(given.world, given.tunterm({ strategy: 'serial', max_failure_percentage: 0 }))
  const [first] = await given.idsBy(id, 'queued')
  await given.play([first])
  await given.act(id, 'retry')
  await given.play()
  expect(await find(given.world, id)).toMatchObject({ status: 'failed', counts: { success: 1, cancelled: 2 } })
  const types = (await recordsOf(id)).map(([, type]) => type)
  expect(types).toEqual(['UPGRADE_RETRIED', 'UPGRADE_STOPPED'])
})

test('an upgrade stops at its end: those that install finish, and the others are left', async () => {
  const end_time = inHours(1)
  const { id, ...record } = await upgrade(given.world, given.tunterm({ strategy: 'serial', end_time }))
  expect(record).toMatchObject({ end_time, status: 'queued' })
  expect(await overviewOf(id)).toMatchObject({ end_time, status: 'queued' })
  await round()
  await setCommands(id, { state: 'sent' })
  clock.advance(HOUR_MS)
  for (let rounds = 0; rounds < 2; rounds += 1) await round()
  const stop_reason = reasonOf(end_time)
  const stopping = { stop_reason, counts: { upgrading: 1, cancelled: 2 } }
  expect(await find(given.world, id)).toMatchObject({ status: 'upgrading', ...stopping })
  expect(await overviewOf(id)).toMatchObject({ status: 'running', ...stopping })
  expect(await recordsOf(id)).toContainEqual([
    `Upgrade ${id} of edge appliances ${stop_reason}`,
    'UPGRADE_END_REACHED',
    stop_reason,
  ])
  await setCommands(id, { state: 'rejected', outcome: json({ text: 'The disk is full', final: true }) })
  await given.play()
  const ended = { status: 'cancelled', counts: { failed: 1, cancelled: 2 }, stop_reason }
  expect(await find(given.world, id)).toMatchObject(ended)
  expect(await overviewOf(id)).toMatchObject(ended)
  const refused = await given.act(id, 'retry')
  expect([refused.status, refused.body.detail]).toEqual([
    400,
    `The upgrade can't be retried: its end_time, ${new Date(1000 * end_time).toISOString()}, is over`,
  ])
})

test('a command that the gateway has not sent by the end is withdrawn, and never sent after it', async () => {
  const end_time = inHours(0) + 60
  const { id } = await upgrade(given.world, given.tunterm({ end_time }))
  await round()
  const commands = given.world.ctx.db.selectFrom('mxedgeCommand').select('expiresAt').where('upgradeId', '=', id)
  const limits = (await commands.execute()).map(({ expiresAt }) => epochS(expiresAt))
  expect(limits).toEqual([end_time, end_time, end_time])
  clock.advance(60_000)
  await round()
  expect(await find(given.world, id)).toMatchObject({ status: 'cancelled', counts: { cancelled: 3 } })
})

test('an upgrade whose appliances all finish after its end is completed, and has no reason of a stop', async () => {
  const end_time = inHours(1)
  const { id } = await upgrade(given.world, given.tunterm({ end_time }))
  await round()
  await setCommands(id, { state: 'sent' })
  clock.advance(HOUR_MS)
  await round()
  expect(await find(given.world, id)).toMatchObject({ stop_reason: reasonOf(end_time), counts: { upgrading: 3 } })
  await setCommands(id, { state: 'done', finishedAt: clock.now() })
  const report = json(running('2.0.0'))
  await given.world.ctx.db.updateTable('mxedgeSession').set({ report }).execute()
  await given.play()
  for (const shown of [await find(given.world, id), await overviewOf(id)]) {
    expect(shown).toMatchObject({ status: 'completed', counts: { success: 3 } })
    expect(shown).not.toHaveProperty('stop_reason')
  }
})

test('a stop at the end that dies at any of its writes has changed nothing, and is made up for once', async () => {
  const end_time = inHours(1)
  const { id } = await upgrade(given.world, given.tunterm({ end_time }))
  await given.act(id, 'pause')
  clock.advance(HOUR_MS)
  const tables = ['mxedge_upgrade_target', 'mxedge_upgrade', 'audit_log']
  const killer = await createKillSwitch(given.world.ctx.db, tables)
  expect(await killer.killAt(tables, round)).toBe(tables.length)
  expect(await find(given.world, id)).toMatchObject({ status: 'cancelled', counts: { cancelled: 3 } })
  expect((await recordsOf(id)).map(([, type]) => type)).toEqual(['UPGRADE_END_REACHED', 'UPGRADE_PAUSED'])
})

test('a queued upgrade may get, change and lose its end, and its plan keeps it', async () => {
  const start_time = inHours(1)
  const body = given.tunterm({ start_time })
  const { id } = await upgrade(given.world, body)
  expect(await put(id, { end_time: inHours(2) })).toMatchObject({ status: 200, body: { end_time: inHours(2) } })
  expect((await put(id, await find(given.world, id))).body).toMatchObject({ end_time: inHours(2), start_time })
  const early = `Invalid field end_time: is ${new Date(1000 * start_time).toISOString()}, but edge appliances begin at`
  expect((await put(id, { end_time: start_time })).body.detail).toContain(early)
  expect((await put(id, { '-end_time': '' })).body).not.toHaveProperty('end_time')
  expect((await put(id, { end_time: 0 })).body).not.toHaveProperty('end_time')
  await given.act(id, 'cancel')
  await given.play()
  const end_time = inHours(0) + 60
  const { body: preview } = await given.post({ ...given.tunterm({ end_time }), dry_run: true })
  expect(preview.notes).toEqual([{ reason: expect.stringContaining('edge appliances that have not begun by then') }])
  const { body: planned } = await given.post({ plan_id: preview.plan_id })
  expect(planned).toMatchObject({ id: preview.plan_id, end_time })
  clock.advance(60_000)
  const { body: late } = await given.post({ ...body, end_time, start_time: 0 })
  expect(late.detail).toContain(`Invalid field end_time: is ${new Date(1000 * end_time).toISOString()}, but`)
  await given.play()
  expect(await find(given.world, planned.id)).toMatchObject({ status: 'cancelled', stop_reason: reasonOf(end_time) })
})

test('an upgrade of a site has an end, which the windows of the site must reach', async () => {
  const siteId = await addSite(given.world, 'Site')
  const assign = { mxedge_ids: given.boxes, site_id: siteId }
  await given.world.call('POST', `/orgs/${given.world.org.orgId}/mxedges/assign`, { body: assign })
  const hour = (hours: number) => `${String((clock.now().getUTCHours() + hours) % 24).padStart(2, '0')}:00`
  const body = {
    versions: { tunterm: '2.0.0' },
    maintenance_windows: [{ start: hour(4), end: hour(8) }],
  }
  const path = `/sites/${siteId}/mxedges/upgrade`
  const early = await given.world.call('POST', path, { body: { ...body, end_time: inHours(2) } })
  expect([early.status, early.body.detail]).toEqual([400, expect.stringContaining('but edge appliances begin at')])
  const { body: made } = await given.world.call('POST', path, { body: { ...body, end_time: inHours(5) } })
  expect(made).toMatchObject({ site_id: siteId, end_time: inHours(5) })
  expect(await overviewOf(made.id, `/sites/${siteId}`)).toMatchObject({ end_time: inHours(5) })
  clock.advance(5 * HOUR_MS)
  for (let rounds = 0; rounds < 2; rounds += 1) await round()
  expect(await find(given.world, made.id)).toMatchObject({ status: 'cancelled', counts: { cancelled: 3 } })
})

test('after the end no appliance joins, and the audit log explains why an upgrade awaits none any more', async () => {
  const other = await upgrade(given.world, given.tunterm({ start_time: inHours(9) }))
  const versions = { tunterm: '2.0.0' }
  const end_time = inHours(1)
  const { id } = await upgrade(given.world, { versions, include_new: true, end_time })
  await given.play()
  expect(await find(given.world, id)).toMatchObject({ status: 'completed', awaited: 3 })
  await given.act(other.id, 'cancel')
  await given.play()
  clock.advance(HOUR_MS - 60_000)
  // The end comes between the beginning of a search and its look at the appliances, which are free by now.
  const instants = [clock.now()]
  const now = () => instants.shift() ?? new Date(1000 * end_time)
  await includeAllMxedges({ ...given.world.ctx, clock: { now } })
  expect(await find(given.world, id)).toMatchObject({ status: 'completed', counts: { queued: 0, upgrading: 0 } })
  clock.advance(HOUR_MS)
  await addBox(given.world)
  await includeAllMxedges(given.world.ctx)
  const after = await find(given.world, id)
  expect(after).toMatchObject({ status: 'completed', counts: { queued: 0, upgrading: 0 } })
  expect(after).not.toHaveProperty('awaited')
  expect((await recordsOf(id))[0]).toEqual([
    `Cancel the search of upgrade ${id} for further edge appliances: ${reasonOf(end_time)}`,
    'UPGRADE_SEARCH_CANCELLED',
    reasonOf(end_time),
  ])
})

test('appliances join also an upgrade that ends within a minute', async () => {
  const { id, counts } = await upgrade(given.world, {
    ...{ versions: { tunterm: '2.0.0' }, include_new: true },
    end_time: inHours(0) + 30,
  })
  await addBox(given.world)
  clock.advance(16_000)
  await includeAllMxedges(given.world.ctx)
  expect((await find(given.world, id)).counts.total).toBe(counts.total + 1)
  await given.act(id, 'cancel')
})

test('an upgrade that has ended awaits no appliance from its end_time on, and its search ends right after that', async () => {
  const other = await upgrade(given.world, given.tunterm({ start_time: inHours(9) }))
  const end_time = inHours(1)
  const { id } = await upgrade(given.world, { versions: { tunterm: '2.0.0' }, include_new: true, end_time })
  await given.play()
  clock.advance(HOUR_MS - 30_000)
  const { ctx } = given.world
  await ctx.db.updateTable('mxedgeUpgrade').set({ includeDueMs: 0 }).where('id', '=', id).execute()
  await includeAllMxedges(ctx)
  for (const shown of [await find(given.world, id), await overviewOf(id)]) expect(shown).toMatchObject({ awaited: 3 })
  const row = ctx.db.selectFrom('mxedgeUpgrade').select('includeDueMs').where('id', '=', id)
  const { includeDueMs } = await row.executeTakeFirstOrThrow()
  expect((includeDueMs ?? Infinity) - ctx.serviceClock.nowMs()).toBeLessThanOrEqual(30_000)
  clock.advance(30_000)
  for (const shown of [await find(given.world, id), await overviewOf(id)]) expect(shown).not.toHaveProperty('awaited')
  await given.act(other.id, 'cancel')
})
