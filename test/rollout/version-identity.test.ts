import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { json } from '../../src/platform/database/db.ts'
import { NEW } from '../support/fleets/fleet.ts'
import { expectConsistent } from './expect-consistent.ts'
import { countOf, useRollout } from './harness.ts'
import { subscribe } from './subscribe.ts'

const rollout = useRollout()
const { advance, create, play, read, seed } = rollout

/** The catalog has the version under another name than that by which devices report it. */
async function rename(minVersion: string | null = null): Promise<void> {
  await rollout.ctx.db
    .updateTable('firmwareVersion')
    .set({ version: 'release 2', reported: json([NEW, `${NEW}-stock`]), minVersion })
    .where('version', '=', NEW)
    .execute()
}

it('a device that reports a string of the version runs it: it is skipped before an upgrade, and upgraded after it; another string is a failure', async () => {
  const devices = await seed([3])
  await rename()
  await rollout.fleet.connect(devices.slice(0, 1), `${NEW}-stock`)
  const { id } = await create({ version: 'release 2', max_failure_percentage: 100 })
  expect(countOf(await read(id))).toEqual({ planned: 2, skipped: 1 })
  await play((device) => (device.id === devices[2]?.id ? 'keeps_old' : 'upgrades'))
  expect(countOf(await read(id))).toEqual({ upgraded: 1, skipped: 1, failed: 1 })
  await expectConsistent(rollout.ctx)
})

it('a forced device that runs the version already has to boot, whatever string it reports', async () => {
  const devices = await seed([1])
  await rename()
  await rollout.fleet.connect(devices, NEW)
  const { id } = await create({ version: 'release 2', force: true })
  await advance()
  await rollout.fleet.answer(() => 'does')
  await advance()
  expect(countOf(await read(id))).toEqual({ rebooting: 1 })
  await rollout.fleet.disconnect(devices)
  rollout.clock.advance(1000)
  await rollout.fleet.connect(devices, NEW)
  await advance()
  expect(countOf(await read(id))).toEqual({ upgraded: 1 })
})

it('a forced device that has got the version since the upgrade was planned has to boot as well', async () => {
  const devices = await seed([2])
  await subscribe(rollout)
  const [known] = devices
  await rollout.fleet.disconnect(devices)
  await rollout.ctx.db
    .updateTable('deviceStatus')
    .set({ firmware: null })
    .where('deviceId', '<>', known?.id ?? '')
    .execute()
  const { id } = await create({ force: true })
  await rollout.fleet.connect(devices, NEW)
  await advance()
  await rollout.fleet.answer(() => 'does')
  await advance()
  expect(countOf(await read(id))).toEqual({ rebooting: 2 })
  const targets = await rollout.ctx.db.selectFrom('upgradeTarget').select('fromVersion').execute()
  expect(targets).toEqual([{ fromVersion: NEW }, { fromVersion: NEW }])
  const sent = await rollout.ctx.db
    .selectFrom('webhookOutbox')
    .select('event')
    .where('topic', '=', 'upgrade-events')
    .execute()
  const starts = sent.filter(({ event }) => event?.['type'] === 'UPGRADE_DEVICE_STARTED')
  expect(starts.map(({ event }) => event?.['from_version'])).toEqual([NEW, NEW])
  await rollout.fleet.disconnect(devices)
  rollout.clock.advance(1000)
  await rollout.fleet.connect(devices, NEW)
  await advance()
  expect(countOf(await read(id))).toEqual({ upgraded: 2 })
})

it('a device that has got the version since the upgrade was planned is skipped as one that runs it', async () => {
  const devices = await seed([1])
  await subscribe(rollout)
  await rollout.fleet.disconnect(devices)
  const { id } = await create()
  await rollout.fleet.connect(devices, NEW)
  await advance()
  expect(countOf(await read(id))).toEqual({ skipped: 1 })
  expect(await rollout.ctx.db.selectFrom('upgradeTarget').select('fromVersion').execute()).toEqual([
    { fromVersion: NEW },
  ])
  const { event } = await rollout.ctx.db
    .selectFrom('webhookOutbox')
    .select('event')
    .where(sql`event ->> 'type'`, '=', 'UPGRADE_DEVICE_SKIPPED')
    .executeTakeFirstOrThrow()
  expect(event).toMatchObject({ from_version: NEW, version: NEW })
})

it('a device below the lowest version is left out, with the reason', async () => {
  const [low] = await seed([2])
  await rename('1.5')
  await rollout.fleet.connect(rollout.devices().slice(1), '1.9')
  const { id } = await create({ version: 'release 2' })
  const { siteUpgrades } = await read(id)
  expect(siteUpgrades[0]?.notes).toEqual([
    { mac: low?.mac, reason: 'runs 1.0.0, but release 2 can only be installed from 1.5 or a later version' },
  ])
  expect(countOf(await read(id))).toEqual({ planned: 1 })
})
