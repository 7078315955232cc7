import { beforeEach, describe, expect, it } from 'vitest'
import { updateSiteSetting } from '../../src/orgs/site-settings/update-site-setting.ts'
import { MODEL, NEW, OLD } from '../support/fleets/fleet.ts'
import { DAY_MS, HOUR_MS, NIGHT_MS, useAutomaticUpgrades } from './automatic-harness.ts'
import { MIDDLE, seedHop } from './hops/hop-images.ts'

const { rollout, scopeOf, set, begin, state, pass, upgrades } = useAutomaticUpgrades()

describe('the versions of automatic upgrades', () => {
  const OTHER = 'AP41'
  beforeEach(async () => {
    await rollout.seed([{ devices: 2 }])
  })

  async function tag(version: string, name: string): Promise<void> {
    await rollout.ctx.db.updateTable('firmwareVersion').set({ tag: name }).where('version', '=', version).execute()
  }

  it('are those of a label, and a device with a higher one keeps it', async () => {
    const [first] = rollout.devices(0)
    if (first === undefined) throw new Error('no device')
    await rollout.fleet.connect([first], '3.0.0')
    await tag(NEW, 'stable')
    await set({ enabled: true })
    await begin()
    await pass(NIGHT_MS)
    const [upgrade] = await upgrades()
    expect(upgrade).toMatchObject({ status: 'completed', total: 1, targetVersion: NEW })
    await pass(DAY_MS)
    expect(await state()).toMatchObject({ reason: 'runs 3.0.0, which is higher than 2.0.0' })
  })

  it('lower no device that gets a higher one than the label while it waits for its window', async () => {
    await tag(NEW, 'stable')
    await updateSiteSetting(rollout.ctx, scopeOf(), {
      auto_upgrade: { enabled: true },
      maintenance_windows: [{ start: '05:00', end: '06:00' }],
    })
    await begin()
    await pass(NIGHT_MS)
    const [first] = rollout.devices(0)
    if (first === undefined) throw new Error('no device')
    await rollout.fleet.disconnect([first])
    await rollout.fleet.connect([first], '3.0.0')
    await pass(3 * HOUR_MS)
    expect(await upgrades()).toMatchObject([{ status: 'completed', total: 2 }])
    const targets = await rollout.ctx.db.selectFrom('upgradeTarget').select(['deviceId', 'state', 'reason']).execute()
    expect(targets.find(({ deviceId }) => deviceId === first.id)).toMatchObject({
      state: 'cancelled',
      reason: 'runs 3.0.0, which is higher than 2.0.0',
    })
    expect(targets.map(({ state: one }) => one).toSorted()).toEqual(['cancelled', 'upgraded'])
  })

  it('lower no device that gets a higher one on its way through other versions to the label', async () => {
    await seedHop(rollout, MODEL)
    await tag(NEW, 'stable')
    const maintenance_windows = [{ start: '05:00', end: '06:00' }]
    await updateSiteSetting(rollout.ctx, scopeOf(), { auto_upgrade: { enabled: true }, maintenance_windows })
    await begin()
    await pass(NIGHT_MS)
    await rollout.fleet.disconnect(rollout.devices())
    await rollout.fleet.connect(rollout.devices(), '3.0.0')
    await pass(3 * HOUR_MS)
    const targets = await rollout.ctx.db.selectFrom('upgradeTarget').select(['state', 'reason']).execute()
    const kept = { state: 'cancelled', reason: `runs 3.0.0, which is higher than ${MIDDLE}` }
    expect(targets).toEqual([kept, kept])
  })

  it('lower a device whose model names its version, also if another model gets the same image by a label', async () => {
    await rollout.seed([{ devices: 1 }, { devices: 1, model: OTHER }])
    await tag(NEW, 'stable')
    const { siteId } = scopeOf()
    await rollout.ctx.db.updateTable('device').set({ siteId }).where('model', '=', OTHER).execute()
    await rollout.fleet.connect(rollout.devices(1), '3.0.0')
    await set({ enabled: true, version: 'stable', custom_versions: { [OTHER]: NEW } })
    await begin()
    await pass(NIGHT_MS)
    const targets = await rollout.ctx.db
      .selectFrom('upgradeTarget')
      .select(['model', 'state'])
      .orderBy('model')
      .execute()
    expect(targets).toEqual([OTHER, MODEL].map((model) => ({ model, state: 'upgraded' })))
  })

  it('lower a device if they are named by model', async () => {
    await rollout.fleet.connect(rollout.devices(), NEW)
    await set({ enabled: true, version: 'stable', custom_versions: { [MODEL]: OLD } })
    await begin()
    rollout.clock.advance(NIGHT_MS)
    await begin()
    expect(await upgrades()).toMatchObject([{ status: 'queued', total: 2, targetVersion: OLD }])
  })

  it('may be missing for a model', async () => {
    await set({ enabled: true, version: 'custom', custom_versions: { [MODEL]: NEW, [OTHER]: '9.9' } })
    await begin()
    await pass(NIGHT_MS)
    expect(await upgrades()).toMatchObject([{ status: 'completed', total: 2 }])
    rollout.clock.advance(HOUR_MS / 2)
    await set({ enabled: true })
    await begin()
    await pass(DAY_MS)
    expect(await state()).toMatchObject({ reason: `no firmware stable for model ${MODEL}` })
  })

  it('are not tried again after they have failed, until they change', async () => {
    await tag(NEW, 'stable')
    await set({ enabled: true })
    await begin()
    rollout.clock.advance(NIGHT_MS)
    await begin()
    await rollout.play(() => 'refuses_content')
    expect(await upgrades()).toMatchObject([{ status: 'failed' }])
    await pass(DAY_MS)
    expect(await upgrades()).toHaveLength(1)
    expect(await state()).toMatchObject({
      reason: `2.0.0 has failed on 1 access point of the model ${MODEL}, so all of them wait`,
    })
    const mended = { version: '2.0.1' }
    await rollout.ctx.db.updateTable('firmwareVersion').set(mended).where('version', '=', NEW).execute()
    rollout.clock.advance(DAY_MS)
    await begin()
    expect(await upgrades()).toMatchObject([{ status: 'failed' }, { status: 'queued', targetVersion: '2.0.1' }])
    expect(await state()).toMatchObject({ reason: null })
  })
})
