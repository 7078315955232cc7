import { beforeEach, describe, expect, it } from 'vitest'
import { updateSetting } from '../../src/orgs/org-settings/update-setting.ts'
import { updateSiteSetting } from '../../src/orgs/site-settings/update-site-setting.ts'
import type { AutoUpgrade } from '../../src/orgs/windows/auto-upgrade.ts'
import { findAutoUpgrade } from '../../src/upgrades/automatic/store.ts'
import { untilWaiting } from '../support/database/until-waiting.ts'
import { MODEL, NEW } from '../support/fleets/fleet.ts'
import { waitUntil } from '../support/wait-until.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, MONDAY, NIGHT_MS, useAutomaticUpgrades } from './automatic-harness.ts'

const { rollout, scopeOf, set, begin, state, pass, upgrades } = useAutomaticUpgrades()

const toNew: AutoUpgrade = { enabled: true, version: 'custom', custom_versions: { [MODEL]: NEW } }

describe('the access points of a site with auto_upgrade', () => {
  beforeEach(async () => {
    await rollout.seed([2, 1, { devices: 1, type: 'switch', model: MODEL }])
  })

  it('are upgraded at its time, once, and the others are not', async () => {
    // Clients write an empty text for a missing one.
    await set({ ...toNew, time_of_day: '' })
    await begin()
    expect(await state()).toEqual({ nextAt: MONDAY, lastAt: null, upgradeId: null, reason: null })
    rollout.clock.advance(NIGHT_MS - 1)
    await begin()
    expect(await upgrades()).toEqual([])
    rollout.clock.advance(1)
    await Promise.all([begin(), begin()])
    const next = new Date(MONDAY.getTime() + DAY_MS)
    const [upgrade, ...more] = await upgrades()
    expect(more).toEqual([])
    const note = { reason: 'Begun by auto_upgrade in the settings of the site or its organization' }
    const endsAt = new Date(next.getTime() - MINUTE_MS)
    expect(upgrade).toMatchObject({ siteId: scopeOf().siteId, total: 2, targetVersion: NEW, endsAt })
    expect(upgrade?.notes).toContainEqual(note)
    await rollout.play()
    expect(await upgrades()).toMatchObject([{ status: 'completed' }])
    expect(await state()).toEqual({ nextAt: next, lastAt: MONDAY, upgradeId: upgrade?.id, reason: null })
    const audit = rollout.ctx.db
      .selectFrom('auditLog')
      .select(['adminName', 'siteId'])
      .where('message', 'like', 'Upgrade 2%')
    expect(await audit.execute()).toEqual([{ adminName: 'rollout', siteId: scopeOf().siteId }])
    await pass(DAY_MS)
    expect(await upgrades()).toHaveLength(1)
    expect(await state()).toMatchObject({
      upgradeId: upgrade?.id,
      reason: 'each connected access point runs its version',
    })
  })

  it('are upgraded by the setting of the organization, unless the site has its own', async () => {
    await updateSetting(rollout.ctx, rollout.org.scope, { auto_upgrade: toNew })
    await set({ enabled: false }, 1)
    await begin()
    expect((await state(1)).nextAt).toBeNull()
    await pass(NIGHT_MS)
    expect((await upgrades()).map(({ siteId }) => siteId)).toEqual([scopeOf().siteId])
    // A switch is no access point.
    expect(await state(2)).toMatchObject({ lastAt: MONDAY, reason: 'no access point is connected' })
    await set({ ...toNew, day_of_week: 'wed', time_of_day: '14:30' }, 1)
    expect((await state(1)).nextAt).toEqual(new Date('2026-03-04T14:30:00Z'))
  })

  it('are upgraded when they are connected, if no other upgrade has them', async () => {
    const [first, second] = rollout.devices(0)
    if (first === undefined || second === undefined) throw new Error('no devices')
    await set(toNew)
    await rollout.fleet.disconnect([second])
    await begin()
    await pass(NIGHT_MS)
    expect(await upgrades()).toMatchObject([{ total: 1, status: 'completed' }])
    await rollout.fleet.connect([second])
    const { id } = await rollout.create({ start_time: (rollout.clock.now().getTime() + 2 * DAY_MS) / 1000 })
    await pass(DAY_MS)
    expect(await state()).toMatchObject({ reason: 'other upgrades have 1 access point' })
    expect((await rollout.read(id)).siteUpgrades[0]).toMatchObject({ status: 'queued' })
  })

  it('begin within the maintenance windows of the site', async () => {
    await updateSiteSetting(rollout.ctx, scopeOf(), {
      auto_upgrade: toNew,
      maintenance_windows: [{ start: '05:00', end: '06:00' }],
    })
    await begin()
    await pass(NIGHT_MS)
    expect(await upgrades()).toMatchObject([{ status: 'queued' }])
    await pass(3 * HOUR_MS)
    expect(await upgrades()).toMatchObject([{ status: 'completed' }])
  })

  it('do not begin if no window opens before the next time', async () => {
    await updateSiteSetting(rollout.ctx, scopeOf(), {
      auto_upgrade: toNew,
      maintenance_windows: [{ days: ['sat'], start: '05:00', end: '06:00' }],
    })
    await begin()
    await pass(NIGHT_MS)
    expect(await state()).toMatchObject({ reason: 'no maintenance window opens before the next time' })
    for (const _ of ['tue', 'wed', 'thu', 'fri', 'sat']) await pass(DAY_MS)
    await pass(3 * HOUR_MS)
    expect(await upgrades()).toMatchObject([{ status: 'completed' }])
  })

  it('begin at a time that was less than a minute away when the setting was written', async () => {
    rollout.clock.advance(30_000)
    await set({ ...toNew, time_of_day: '12:01' })
    rollout.clock.advance(45_000)
    await begin()
    rollout.clock.advance(60_000)
    await begin()
    expect(await upgrades()).toMatchObject([{ status: 'queued' }])
  })

  it('begin without an access point that leaves the site meanwhile', async () => {
    await set(toNew)
    await begin()
    rollout.clock.advance(NIGHT_MS)
    const [first] = rollout.devices(0)
    let looking: Promise<unknown> = Promise.resolve()
    await rollout.ctx.db.transaction().execute(async (tx) => {
      // It is at the site, until this transaction ends, for which the upgrade waits.
      await tx.selectFrom('site').select('id').where('id', '=', scopeOf().siteId).forUpdate().execute()
      const left = { siteId: scopeOf(1).siteId }
      await tx
        .updateTable('device')
        .set(left)
        .where('id', '=', first?.id ?? '')
        .execute()
      looking = begin()
      await untilWaiting(rollout, 1)
    })
    await looking
    expect(await upgrades()).toMatchObject([{ siteId: scopeOf().siteId, status: 'queued', total: 1 }])
    expect(await state()).toMatchObject({ lastAt: MONDAY, reason: null })
  })

  it('are not upgraded at a time before the setting was turned on again', async () => {
    await set(toNew)
    await begin()
    await set({ ...toNew, enabled: false })
    await begin()
    rollout.clock.advance(NIGHT_MS + HOUR_MS / 2)
    await set(toNew)
    await begin()
    await begin()
    expect(await upgrades()).toEqual([])
    expect((await state()).nextAt).toEqual(new Date(MONDAY.getTime() + DAY_MS))
  })

  it('begin although the upgrade of another site can not', async () => {
    await updateSetting(rollout.ctx, rollout.org.scope, { auto_upgrade: toNew })
    await begin()
    rollout.clock.advance(NIGHT_MS)
    let looking: Promise<unknown> = Promise.resolve()
    await rollout.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('site').select('id').where('id', '=', scopeOf().siteId).forUpdate().execute()
      looking = begin()
      await waitUntil('the upgrade of the other site', async () => (await upgrades()).length === 1)
      expect(await upgrades()).toMatchObject([{ siteId: scopeOf(1).siteId }])
    })
    await looking
    expect(await upgrades()).toHaveLength(2)
  })

  it('begin up to an hour late if the service was down', async () => {
    await set(toNew)
    await begin()
    rollout.clock.advance(NIGHT_MS + HOUR_MS + 1)
    await begin()
    expect(await state()).toMatchObject({ reason: 'the service did not begin it within an hour', upgradeId: null })
    rollout.clock.advance(DAY_MS - 1)
    await begin()
    expect(await upgrades()).toMatchObject([{ status: 'queued' }])
  })

  it('are upgraded from another time on once the setting or the zone has changed', async () => {
    await set(toNew)
    await begin()
    await set({ ...toNew, time_of_day: '13:00' })
    await begin()
    expect((await state()).nextAt).toEqual(new Date('2026-03-01T13:00:00Z'))
    const site = { timezone: 'Asia/Kathmandu' }
    await rollout.ctx.db.updateTable('site').set(site).where('id', '=', scopeOf().siteId).execute()
    await begin()
    expect((await state()).nextAt).toEqual(new Date('2026-03-02T07:15:00Z'))
    await updateSiteSetting(rollout.ctx, scopeOf(), { '-auto_upgrade': '' })
    await pass(2 * DAY_MS)
    expect(await upgrades()).toEqual([])
  })

  it.each([
    { day_of_week: 'Sunday' },
    { time_of_day: '3:00' },
    { version: '2.0.0' },
    { custom_versions: { [MODEL]: 2 } },
  ])('are not upgraded by a setting from before its values were checked: %j', async (values) => {
    await updateSiteSetting(rollout.ctx, scopeOf(), { auto_upgrade: { ...toNew, ...values } })
    await begin()
    await pass(NIGHT_MS)
    const reason = `auto_upgrade.${Object.keys(values).join()} in the settings has an impossible value`
    expect(await state()).toMatchObject({ lastAt: MONDAY, reason, upgradeId: null })
  })

  it.each([null, ''])('are upgraded by a setting whose day is %j, as without it', async (day) => {
    await rollout.ctx.db.updateTable('firmwareVersion').set({ tag: 'stable' }).where('version', '=', NEW).execute()
    const unset = { version: null, custom_versions: null, day_of_week: day, time_of_day: null }
    await updateSiteSetting(rollout.ctx, scopeOf(), { auto_upgrade: { enabled: true, ...unset } })
    await updateSiteSetting(rollout.ctx, scopeOf(1), { auto_upgrade: null })
    await updateSetting(rollout.ctx, rollout.org.scope, { auto_upgrade: toNew })
    await begin()
    await pass(NIGHT_MS)
    expect(await upgrades()).toMatchObject([{ siteId: scopeOf().siteId, status: 'completed', targetVersion: NEW }])
    expect(await state(1)).toMatchObject({ nextAt: null })
  })

  it('have a setting whose other fields are stored, and not read', async () => {
    const rule = { ...toNew, day_of_week: 'wed', time_of_day: '14:30' } as const
    await set({ ...rule, note: 'x'.repeat(100_000) } as AutoUpgrade)
    const { enabled: _, ...known } = rule
    expect((await findAutoUpgrade(rollout.ctx.db, scopeOf(), rollout.clock.now()))?.rule).toEqual(known)
  })

  it('are upgraded at the right time after the clock was a year ahead', async () => {
    await set(toNew)
    const yearMs = 365 * DAY_MS
    rollout.clock.advance(yearMs)
    await begin()
    rollout.clock.advance(-yearMs)
    expect((await state()).nextAt).toEqual(MONDAY)
    await begin()
    await pass(NIGHT_MS)
    expect(await upgrades()).toMatchObject([{ status: 'completed' }])
  })

  it('end before the next time, and what is left is upgraded then', async () => {
    await set(toNew)
    await begin()
    rollout.clock.advance(NIGHT_MS)
    await begin()
    await rollout.fleet.disconnect(rollout.devices(0))
    await pass(DAY_MS - MINUTE_MS)
    expect(await upgrades()).toMatchObject([{ status: 'cancelled' }])
    await rollout.fleet.connect(rollout.devices(0))
    rollout.clock.advance(MINUTE_MS)
    await begin()
    await rollout.play()
    expect((await upgrades()).map(({ status }) => status)).toEqual(['cancelled', 'completed'])
  })
})
