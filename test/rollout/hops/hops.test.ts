import { uuidv7 } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { shareUpgradesInFlight } from '../../../src/devices/commands/store-upgrades.ts'
import { findImageUser } from '../../../src/firmware/store.ts'
import { excludeDevices } from '../../../src/upgrades/changes/exclude-devices.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import { getUpgradeTarget } from '../../../src/upgrades/targets/store.ts'
import { presentUpgradeTargetDetail } from '../../../src/upgrades/targets/wire.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { openTx } from '../../support/database/open-tx.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { MODEL, NEW, OLD, type SeededDevice } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, countOf, statusOf, useRollout } from '../harness.ts'
import { subscribe } from '../subscribe.ts'
import { MIDDLE, seedHop } from './hop-images.ts'

const rollout = useRollout()
const { advance, create, play, read, seed } = rollout
let devices: SeededDevice[] = []
let middleId = ''

beforeEach(async () => {
  devices = await seed([3, 1])
  middleId = await seedHop(rollout, MODEL)
})

/** The commanded devices install, and come back with a version. */
async function install(some: readonly SeededDevice[], version: string): Promise<void> {
  await advance()
  await rollout.fleet.answer(() => 'does')
  rollout.clock.advance(1000)
  await advance()
  await rollout.fleet.disconnect(some)
  rollout.clock.advance(60_000)
  await rollout.fleet.connect(some, version)
  await advance()
}

const detailOf = async (id: string, device: SeededDevice | undefined) =>
  presentUpgradeTargetDetail(await getUpgradeTarget(rollout.ctx.db, rollout.org.scope, { id, mac: device?.mac ?? '' }))

it('devices get the versions on the way to the one that is wanted, and count once', async () => {
  const { id } = await create({ version: NEW, strategy: 'big_bang' })
  expect((await read(id)).siteUpgrades.map(({ notes }) => String(notes[0]?.reason)).toSorted()).toEqual([
    '1 device reboots more than once: it installs 1.5.0, then 2.0.0',
    '3 devices reboot more than once: they install 1.5.0, then 2.0.0',
  ])
  await install(devices, `${MIDDLE}-stock`)
  expect(countAll(await read(id))).toEqual({ dl_requested: 4 })
  expect(await detailOf(id, devices[0])).toMatchObject({
    status: 'download_requested',
    from_version: OLD,
    version: NEW,
    path: [
      { version: MIDDLE, done_at: expect.any(Number), down_at: expect.any(Number), up_at: expect.any(Number) },
      { version: NEW },
    ],
  })
  const other = await create({ version: MIDDLE })
  expect(countAll(other)).toEqual({})
  const notes = other.siteUpgrades.flatMap((site) => site.notes.map(({ reason }) => reason))
  expect(notes).toEqual(Array.from({ length: 4 }, () => expect.stringMatching(/^in upgrade /)))
  await install(devices, NEW)
  expect(statusOf(await read(id))).toEqual(['completed', 'completed'])
  expect(countAll(await read(id))).toEqual({ upgraded: 4 })
  expect(rollout.ctx.metrics.encode([])).toContain('signalbox_upgrade_device_down_seconds_count 8\n')
  const detail = await detailOf(id, devices[0])
  expect(detail.commands.map(({ attempt, status }) => [attempt, status])).toEqual([
    [1, 'done'],
    [2, 'done'],
  ])
  const causes = detail.timeline.flatMap(({ cause }) => (cause === '' ? [] : [cause]))
  expect(causes).toContain(`goes on to ${NEW}`)
  expect(causes).toContain(`${OLD} -> ${MIDDLE} -> ${NEW}`)
  await expectConsistent(rollout.ctx)
})

it('the next phase waits for the last hop of each device', async () => {
  const { id } = await create({
    version: NEW,
    strategy: 'serial',
    site_ids: [rollout.org.sites[0]?.id ?? ''],
    all_sites: false,
  })
  await advance()
  const begun: SeededDevice[] = []
  await rollout.fleet.answer((device) => {
    begun.push(device)
    return 'does'
  })
  expect(begun).toHaveLength(1)
  for (const version of [MIDDLE, NEW]) {
    if (version === NEW) {
      await advance()
      await rollout.fleet.answer((device) => {
        expect(device).toBe(begun[0])
        return 'does'
      })
    }
    await advance()
    await rollout.fleet.disconnect(begun)
    rollout.clock.advance(60_000)
    await rollout.fleet.connect(begun, version)
    await advance()
  }
  expect(countOf(await read(id))).toMatchObject({ upgraded: 1 })
})

it('a crash between two hops neither repeats nor loses one', async () => {
  const { id } = await create({ version: NEW, strategy: 'big_bang' })
  await install(devices, MIDDLE)
  // The gateway and the engine restart: their whole knowledge is in the database.
  await rollout.fleet.markSessionsLost()
  await advance()
  await rollout.fleet.connect(devices, MIDDLE, 'socket')
  await advance()
  await rollout.fleet.markSessionsLost()
  await rollout.fleet.connect(devices, MIDDLE, 'socket')
  await install(devices, NEW)
  expect(countAll(await read(id))).toEqual({ upgraded: 4 })
  expect([...rollout.fleet.attempts.values()]).toEqual([2, 2, 2, 2])
  await expectConsistent(rollout.ctx)
})

it('a device that has got to a later version by itself continues from it', async () => {
  const [here, there] = devices
  const { id } = await create({ version: NEW, strategy: 'big_bang' })
  await rollout.fleet.connect(here === undefined ? [] : [here], NEW)
  await rollout.fleet.connect(there === undefined ? [] : [there], MIDDLE)
  await advance()
  await advance()
  await advance()
  expect(countOf(await read(id))).toEqual({ dl_requested: 2, skipped: 1 })
  const commands = await rollout.ctx.db.selectFrom('deviceCommand').select(['deviceId', 'version']).execute()
  expect(commands.find(({ deviceId }) => deviceId === there?.id)?.version).toBe(NEW)
})

it.each(['silent', 'does', 'refuses_content'] as const)(
  'a device that gets to a later version by itself, after a command that it answers so (%s), is not taken back',
  async (reply) => {
    const { id } = await create({ version: NEW, strategy: 'big_bang' })
    await advance()
    await rollout.fleet.answer(() => reply)
    if (reply === 'does') await advance()
    await rollout.fleet.disconnect(devices)
    await rollout.fleet.connect(devices, NEW)
    for (let minutes = 0; minutes < 3; minutes += 1) {
      await advance()
      rollout.clock.advance(60_000)
    }
    expect(countAll(await read(id))).toEqual({ upgraded: 4 })
    expect([...rollout.fleet.attempts.values()]).toEqual([1, 1, 1, 1])
    const commands = await rollout.ctx.db.selectFrom('deviceCommand').select('version').execute()
    expect(commands.map(({ version }) => version)).toEqual([MIDDLE, MIDDLE, MIDDLE, MIDDLE])
    await expectConsistent(rollout.ctx)
  },
)

it('a device that fails on its way is retried from there', async () => {
  const { id } = await create({ version: NEW, strategy: 'big_bang', max_failure_percentage: 100 })
  await install(devices, MIDDLE)
  await play(() => 'refuses_content')
  expect(countAll(await read(id))).toEqual({ failed: 4 })
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await install(devices, NEW)
  expect(countAll(await read(id))).toEqual({ upgraded: 4 })
  await expectConsistent(rollout.ctx)
})

it('an upgrade that is cancelled leaves a device at the version that it has got to', async () => {
  const { id } = await create({ version: NEW, strategy: 'big_bang' })
  await advance()
  await rollout.fleet.answer(() => 'does')
  await advance()
  await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  await rollout.fleet.disconnect(devices)
  rollout.clock.advance(60_000)
  await rollout.fleet.connect(devices, MIDDLE)
  await advance()
  expect(await detailOf(id, devices[0])).toMatchObject({
    status: 'cancelled',
    reason: `stopped on its way, at ${MIDDLE}`,
  })
  expect(statusOf(await read(id))).toEqual(['cancelled', 'cancelled'])
  await expectConsistent(rollout.ctx)
})

it('a device that is excluded between two versions says at which one it stays', async () => {
  await subscribe(rollout)
  const { id } = await create({ version: NEW, strategy: 'big_bang' })
  await install(devices, MIDDLE)
  const [first, ...others] = devices
  await excludeDevices(rollout.ctx, rollout.org.scope, { id, macs: [first?.mac ?? ''], note: 'the rack moves' })
  const reason = `excluded by ${rollout.org.scope.actor.name}: the rack moves; stopped on its way, at ${MIDDLE}`
  const detail = await detailOf(id, first)
  expect(detail).toMatchObject({ status: 'cancelled', reason })
  expect(detail.timeline).toContainEqual(expect.objectContaining({ cause: reason }))
  const events = await rollout.ctx.db.selectFrom('webhookOutbox').select('event').execute()
  expect(events).toContainEqual({ event: expect.objectContaining({ type: 'UPGRADE_DEVICE_CANCELLED', reason }) })
  await install(others, NEW)
  expect(countAll(await read(id))).toEqual({ upgraded: 3, cancelled: 1 })
  await expectConsistent(rollout.ctx)
})

it('an image is in use while a device has yet to get it', async () => {
  const { id } = await create({ version: NEW, strategy: 'big_bang' })
  const { scope, imageId } = rollout.org
  await inTx(rollout.ctx, async (tx) => {
    for (const used of [imageId, middleId])
      expect(await findImageUser(tx, scope, used)).toMatch(`Upgrade ${id} uses this image`)
    expect(await findImageUser(tx, scope, uuidv7())).toBeNull()
  })
})

it('devices continue without a deadlock while their upgrades are read for commands of people', async () => {
  const { ctx, clock, fleet, org } = rollout
  const [first, second, last] = rollout.devices(0).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  if (first === undefined || second === undefined || last === undefined) throw new Error('no devices')
  await fleet.disconnect([first, second])
  clock.advance(600_000)
  const only = { all_sites: false, site_ids: [org.sites[0]?.id ?? ''] }
  const { id } = await create({ version: NEW, strategy: 'big_bang', ...only })
  await advance()
  await fleet.answer(() => 'does')
  await advance()
  expect(countOf(await read(id))).toEqual({ deferred: 2, rebooting: 1 })
  await fleet.disconnect([last])
  clock.advance(60_000)
  await fleet.connect([first, second])
  await fleet.connect([last], MIDDLE)
  const reading = await openTx(ctx, (tx) => shareUpgradesInFlight(tx, org.scope, [second.id]))
  // The last device goes on, and the two others are commanded.
  const round = advance()
  await untilWaiting(rollout, 1)
  await Promise.all([reading.commitAfter((tx) => shareUpgradesInFlight(tx, org.scope, [last.id])), round])
  expect(countOf(await read(id))).toEqual({ dl_requested: 3 })
  await expectConsistent(ctx)
})
