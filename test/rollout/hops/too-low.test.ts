import { beforeEach, describe, expect, it } from 'vitest'
import { json } from '../../../src/platform/database/db.ts'
import { MODEL, NEW, OLD, type SeededDevice } from '../../support/fleets/fleet.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, statusOf, useRollout } from '../harness.ts'
import { MIDDLE, seedHop } from './hop-images.ts'

const rollout = useRollout()
const { advance, create, read } = rollout
const later = '2026-03-02T12:00:00Z'
const HOURS_24 = 24 * 3600_000
const nothingLeft = 'no device is left to upgrade; see the reason of each'
const reason = `runs ${OLD}, but ${NEW} can only be installed from ${MIDDLE} or a later version`

/** Two devices that run a version from which NEW can be installed. */
async function seedRunning(commands: readonly string[]): Promise<SeededDevice[]> {
  const capabilities = { commands, restart_members: [], restart_nodes: [] } as never
  const devices = await rollout.seed([{ devices: 2, capabilities }], { online: false })
  await seedHop(rollout, MODEL)
  await rollout.fleet.connect(devices, `${MIDDLE}-stock`)
  return devices
}

/** A person goes back to an older version of the device. */
async function lower(device: SeededDevice | undefined): Promise<void> {
  const some = [device].flatMap((one) => one ?? [])
  await rollout.fleet.disconnect(some)
  rollout.clock.advance(60_000)
  await rollout.fleet.connect(some, OLD)
  await advance()
}

async function expectLeftOut(id: string, lowered: SeededDevice | undefined): Promise<void> {
  const upgrade = await read(id)
  expect([countAll(upgrade), statusOf(upgrade)]).toEqual([{ upgraded: 1, cancelled: 1 }, ['completed']])
  const rows = await rollout.ctx.db.selectFrom('upgradeTarget').select(['deviceId', 'state', 'reason']).execute()
  expect(rows.filter(({ state }) => state === 'cancelled')).toEqual([
    { deviceId: lowered?.id, state: 'cancelled', reason },
  ])
  await expectConsistent(rollout.ctx)
}

describe('a device that has gone back to a version from which the image can not be installed', () => {
  let devices: SeededDevice[]

  it('is not commanded to install it', async () => {
    devices = await seedRunning(['restart', 'upgrade'])
    const { id } = await create({ version: NEW, strategy: 'big_bang', start_datetime: later })
    await lower(devices[0])
    rollout.clock.advance(HOURS_24)
    await rollout.play()
    await expectLeftOut(id, devices[0])
    expect(rollout.fleet.attempts.has(devices[0]?.id ?? '')).toBe(false)
  })

  it('leaves a site without other devices cancelled, which says why, and devices may still join there', async () => {
    const [gone, absent, joins] = await rollout.seed([1, 1, 1], { online: false })
    if (gone === undefined || absent === undefined || joins === undefined) throw new Error('no devices')
    await seedHop(rollout, MODEL)
    await rollout.fleet.connect([gone, absent, joins], `${MIDDLE}-stock`)
    const sites = { all_sites: false, site_ids: rollout.org.sites.slice(0, 2).map((site) => site.id) }
    const { id } = await create({
      ...sites,
      version: NEW,
      strategy: 'big_bang',
      include_new: true,
      start_datetime: later,
    })
    await rollout.fleet.disconnect([absent])
    await lower(gone)
    rollout.clock.advance(HOURS_24)
    await rollout.play()
    const [emptied, other] = (await read(id)).siteUpgrades
    expect(emptied).toMatchObject({ status: 'cancelled', stopReason: nothingLeft, targets: { cancelled: [gone.mac] } })
    expect(other?.stopReason).toBeNull()
    const siteId = rollout.org.sites[0]?.id ?? ''
    const { ctx } = rollout
    await ctx.db.updateTable('device').set({ siteId }).where('id', '=', joins.id).execute()
    rollout.clock.advance(61_000)
    await includeAll(ctx)
    await rollout.play()
    expect((await read(id)).siteUpgrades[0]).toMatchObject({ status: 'completed', stopReason: null })
    await expectConsistent(ctx)
  })

  describe('while it has the image', () => {
    beforeEach(async () => {
      devices = await seedRunning(['restart', 'stage', 'activate'])
    })

    it('is not commanded to activate it', async () => {
      const { id } = await create({ version: NEW, strategy: 'big_bang', reboot_datetime: later })
      await advance()
      await rollout.fleet.answer(() => 'does')
      await advance()
      expect(countAll(await read(id))).toEqual({ downloaded: 2 })
      await lower(devices[0])
      rollout.clock.advance(HOURS_24)
      await rollout.play()
      await expectLeftOut(id, devices[0])
      const commands = await rollout.ctx.db
        .selectFrom('deviceCommand')
        .select('kind')
        .where('deviceId', '=', devices[0]?.id ?? '')
        .execute()
      expect(commands).toEqual([{ kind: 'stage' }])
    })
  })
})

it('a version without a lowest one is installed from any, also if another version has the same image', async () => {
  await rollout.seed([2])
  await seedHop(rollout, MODEL)
  const { db } = rollout.ctx
  const entry = await db.selectFrom('firmwareVersion').selectAll().where('version', '=', NEW).executeTakeFirstOrThrow()
  const renamed = { ...entry, version: `${NEW}.1`, minVersion: null, reported: json([NEW]) }
  await db.insertInto('firmwareVersion').values(renamed).execute()
  const { id } = await create({ version: renamed.version, strategy: 'big_bang' })
  await rollout.play()
  expect(countAll(await read(id))).toEqual({ upgraded: 2 })
})
