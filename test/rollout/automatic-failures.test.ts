import { beforeEach, expect, it } from 'vitest'
import { systemSiteScope } from '../../src/access/scope.ts'
import { deletePastRetention } from '../../src/app/retention.ts'
import { updateSiteSetting } from '../../src/orgs/site-settings/update-site-setting.ts'
import type { AutoUpgrade } from '../../src/orgs/windows/auto-upgrade.ts'
import { endUpgrades } from '../../src/rollout/stops/end-upgrades.worker.ts'
import { beginAutoUpgrades } from '../../src/upgrades/automatic/auto-upgrade.worker.ts'
import { getAutoUpgrade } from '../../src/upgrades/automatic/get-auto-upgrade.ts'
import { MODEL, NEW, type Reply, type SeededDevice } from '../support/fleets/fleet.ts'
import { expectConsistent } from './expect-consistent.ts'
import { useRollout } from './harness.ts'

const rollout = useRollout()
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const toNew: AutoUpgrade = { enabled: true, version: 'custom', custom_versions: { [MODEL]: NEW } }

const scopeOf = () =>
  systemSiteScope('operator', { orgId: rollout.org.scope.orgId, siteId: rollout.org.sites[0]?.id ?? '' })
const set = (setting: AutoUpgrade) => updateSiteSetting(rollout.ctx, scopeOf(), { auto_upgrade: setting })
const state = () => getAutoUpgrade(rollout.ctx, scopeOf())
const reason = async () => (await state()).reason

/** Lets the next night come, and what begins then run to its end. @param replies Of the devices by their place; the others upgrade. */
async function pass(replies: Readonly<Record<number, Reply>> = {}): Promise<void> {
  const { nextAt } = await state()
  rollout.clock.advance((nextAt?.getTime() ?? 0) - rollout.clock.now().getTime())
  await endUpgrades(rollout.ctx)
  await rollout.advance()
  await beginAutoUpgrades(rollout.ctx)
  const devices = rollout.devices()
  await rollout.play(({ id }) => replies[devices.findIndex((device) => device.id === id)] ?? 'upgrades')
  await expectConsistent(rollout.ctx)
}

/** Site upgrades in the order of their creation, each with its targets by their place. */
async function upgrades() {
  const parts = rollout.ctx.db
    .selectFrom('siteUpgrade as part')
    .innerJoin('orgUpgrade as whole', 'whole.id', 'part.orgUpgradeId')
    .select(['part.id', 'part.status', 'whole.notes'])
    .orderBy('part.id')
  const targets = await rollout.ctx.db.selectFrom('upgradeTarget').select(['upgradeId', 'deviceId', 'state']).execute()
  const devices = rollout.devices()
  return (await parts.execute()).map(({ id, status, notes }) => {
    const mine = targets.filter(({ upgradeId, state }) => upgradeId === id && state !== 'skipped')
    const states = mine.map(({ deviceId, state }) => [devices.findIndex((one) => one.id === deviceId), state] as const)
    return { status, notes, states: Object.fromEntries(states) }
  })
}

const online = (...places: number[]): SeededDevice[] => rollout.devices().filter((_, place) => places.includes(place))

beforeEach(async () => {
  await rollout.seed([5], { online: false })
  await set(toNew)
  await beginAutoUpgrades(rollout.ctx)
})

it('goes on without a device that has failed', async () => {
  await rollout.fleet.connect(online(0))
  await pass({ 0: 'keeps_old' })
  expect(await upgrades()).toMatchObject([{ status: 'failed', states: { 0: 'failed' } }])
  await pass()
  const failure = `${NEW} has failed on 1 access point of the model ${MODEL}`
  expect(await reason()).toBe(failure)
  await rollout.fleet.connect(online(1, 2))
  await pass()
  expect(await upgrades()).toMatchObject([
    { status: 'failed' },
    { status: 'completed', states: { 1: 'upgraded', 2: 'upgraded' } },
  ])
  expect((await upgrades())[1]?.notes).toContainEqual({ reason: failure })
  // The failed one is still known after a further upgrade.
  await rollout.fleet.connect(online(3))
  await pass()
  await pass()
  expect(await upgrades()).toMatchObject([{}, {}, { status: 'completed', states: { 3: 'upgraded' } }])
  expect(await reason()).toBe(failure)
  // And with another zone of the site.
  await rollout.ctx.db.updateTable('site').set({ timezone: 'Asia/Tokyo' }).where('id', '=', scopeOf().siteId).execute()
  await beginAutoUpgrades(rollout.ctx)
  await pass()
  expect([await reason(), (await upgrades()).length]).toEqual([failure, 3])
  // It starts anew with a setting that is written differently.
  await set({ ...toNew, time_of_day: '02:01' })
  await beginAutoUpgrades(rollout.ctx)
  await pass()
  expect((await upgrades())[3]).toMatchObject({ status: 'completed', states: { 0: 'upgraded' } })
})

it('goes on with the devices that were stopped when a single one failed', async () => {
  await rollout.fleet.connect(rollout.devices())
  await pass({ 0: 'keeps_old', 1: 'keeps_old', 2: 'keeps_old', 3: 'keeps_old', 4: 'keeps_old' })
  const [first] = await upgrades()
  expect(Object.values(first?.states ?? {}).toSorted()).toEqual([
    'cancelled',
    'cancelled',
    'cancelled',
    'cancelled',
    'failed',
  ])
  await pass()
  expect((await upgrades())[1]?.status).toBe('completed')
  expect(Object.values((await upgrades())[1]?.states ?? {})).toEqual(Array.from({ length: 4 }, () => 'upgraded'))
})

it('gives a version to no further device once two have failed', async () => {
  await rollout.fleet.connect(online(0))
  await pass({ 0: 'keeps_old' })
  await rollout.fleet.connect(online(1))
  await pass({ 1: 'keeps_old' })
  await rollout.fleet.connect(online(2, 3))
  await pass()
  expect(await upgrades()).toHaveLength(2)
  expect(await reason()).toBe(`${NEW} has failed on 2 access points of the model ${MODEL}, so all of them wait`)
  // One of them is replaced.
  await rollout.ctx.db
    .updateTable('device')
    .set({ siteId: null })
    .where('id', '=', online(1)[0]?.id ?? '')
    .execute()
  await pass()
  expect((await upgrades())[2]).toMatchObject({ status: 'completed', states: { 2: 'upgraded', 3: 'upgraded' } })
})

it('gives a version to no further device once one has refused it, until that one runs it', async () => {
  await rollout.fleet.connect(online(0))
  await pass({ 0: 'refuses_content' })
  await rollout.fleet.connect(online(1))
  await pass()
  expect(await upgrades()).toHaveLength(1)
  const refusal = `${NEW} has failed on 1 access point of the model ${MODEL}, so all of them wait`
  expect(await reason()).toBe(refusal)
  // The refused command is known longer than others. Ids of commands have the real time.
  rollout.clock.advance(Math.max(0, Date.now() - rollout.clock.now().getTime()) + 31 * DAY_MS)
  await beginAutoUpgrades(rollout.ctx)
  await deletePastRetention(rollout.ctx, { auditDays: 1, eventDays: 1, commandDays: 30, upgradeDays: 10_000 })
  await pass()
  expect([(await upgrades()).length, await reason()]).toEqual([1, refusal])
  // A person has upgraded it.
  await rollout.fleet.connect(online(0), NEW)
  await pass()
  expect(await upgrades()).toMatchObject([{ status: 'failed' }, { status: 'completed', states: { 1: 'upgraded' } }])
})

it('gives the other models their versions', async () => {
  const other = 'AP41'
  await rollout.seed([{ devices: 2 }, { devices: 1, model: other }])
  const [place, elsewhere] = rollout.org.sites
  await rollout.ctx.db
    .updateTable('device')
    .set({ siteId: place?.id ?? '' })
    .where('siteId', '=', elsewhere?.id ?? '')
    .execute()
  await set({ ...toNew, custom_versions: { [MODEL]: NEW, [other]: NEW } })
  await beginAutoUpgrades(rollout.ctx)
  await pass({ 0: 'refuses_content', 1: 'refuses_content' })
  await pass()
  const last = (await upgrades()).at(-1)
  expect(last).toMatchObject({ status: 'completed', states: { 2: 'upgraded' } })
})

const wait = async (ms: number) => {
  rollout.clock.advance(ms)
  await rollout.play()
}

it('goes on without a device that has failed before its upgrade came to its end', async () => {
  await rollout.seed([40])
  await updateSiteSetting(rollout.ctx, scopeOf(), { maintenance_windows: [{ start: '02:00', end: '02:20' }] })
  await set(toNew)
  await beginAutoUpgrades(rollout.ctx)
  await pass(Object.fromEntries(rollout.devices().map((_, place) => [place, 'dies'])))
  // The first batch is one device. Once it has failed, no other one could end in the window.
  await wait(15 * MINUTE_MS)
  await rollout.fleet.connect(rollout.devices())
  await pass()
  const [first, second] = await upgrades()
  expect(first?.status).toBe('cancelled')
  expect(Object.values(first?.states ?? {}).filter((one) => one === 'failed')).toHaveLength(1)
  expect(second?.status).toBe('completed')
  expect(Object.values(second?.states ?? {})).toEqual(Array.from({ length: 39 }, () => 'upgraded'))
  await pass()
  expect(await upgrades()).toHaveLength(2)
  expect(await reason()).toBe(`${NEW} has failed on 1 access point of the model ${MODEL}`)
})

it('gives a version to devices that were absent in an upgrade', async () => {
  await set({ ...toNew, day_of_week: 'tue' })
  await beginAutoUpgrades(rollout.ctx)
  await rollout.fleet.connect(online(0, 1))
  await pass({ 0: 'silent', 1: 'silent' })
  await rollout.fleet.disconnect(online(0, 1))
  await wait(MINUTE_MS)
  // Longer than an upgrade waits for absent devices.
  await wait(4 * DAY_MS)
  expect(await upgrades()).toMatchObject([{ status: 'failed', states: { 0: 'failed', 1: 'failed' } }])
  await rollout.fleet.connect(online(0, 1))
  await pass()
  expect((await upgrades())[1]).toMatchObject({ status: 'completed', states: { 0: 'upgraded', 1: 'upgraded' } })
})
