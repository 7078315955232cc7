import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SiteScope, systemScope, systemScopeOf } from '../../../src/access/scope.ts'
import { queueCommands } from '../../../src/devices/commands/queue-commands.ts'
import { type UpgradeCommand, insertUpgradeCommands } from '../../../src/devices/commands/store-upgrade-commands.ts'
import { type DeviceUpgradeStep, updateDeviceUpgrades } from '../../../src/devices/commands/store-upgrades.ts'
import { recordRecovery } from '../../../src/devices/sessions/record-recovery.ts'
import { lockClaimedStatuses } from '../../../src/devices/sessions/store.ts'
import { deleteDevices, shareCommandCandidates } from '../../../src/devices/store.ts'
import { type Tx, inTx, inTxByKeys } from '../../../src/platform/database/db.ts'
import { uuidv7 } from '../../../src/platform/uuidv7.ts'
import { defaultRolloutOptions } from '../../../src/rollout/rollout.ts'
import { advanceRollouts } from '../../../src/rollout/worker.ts'
import { createOrgUpgrade } from '../../../src/upgrades/creation/create-org-upgrade.ts'
import { parseOrgUpgrade } from '../../../src/upgrades/wire-parse.ts'
import { type OpenTx, openTx } from '../../support/database/open-tx.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { type SeededOrg, createFleet, seedOrg } from '../../support/fleets/fleet.ts'
import { type TestContext, createTestContext } from '../../support/servers/server.ts'
import { type TestClock, createTestClock } from '../../support/test-clock.ts'

const DEVICES = 3

let clock: TestClock
let test: TestContext
let org: SeededOrg
let ids: string[]
beforeEach(async () => {
  clock = createTestClock()
  test = await createTestContext(clock)
  org = await seedOrg(test.ctx, [{ devices: DEVICES }])
  const devices = org.sites.flatMap((site) => site.devices)
  await createFleet(test.ctx, [org]).connect(devices)
  ids = devices.map(({ id }) => id)
})
afterEach(() => test.close())

/** The devices that have commands. */
async function commanded(): Promise<string[]> {
  const rows = await test.ctx.db.selectFrom('deviceCommand').select('deviceId').orderBy('deviceId').execute()
  return rows.map(({ deviceId }) => deviceId)
}

const open = (work: (tx: Tx) => Promise<unknown>): Promise<OpenTx> => openTx(test.ctx, work)
const deleteAll = (tx: Tx): Promise<void> => deleteDevices(tx, org.scope, ids)

describe('the commands of an upgrade', () => {
  const upgradeId = uuidv7()

  async function insert(tx: Tx): Promise<void> {
    const params = { image_id: uuidv7(), version: '2' }
    const common = {
      siteId: null,
      siteUpgradeId: upgradeId,
      kind: 'upgrade',
      params,
      attempt: 1,
      carrier: null,
    } as const
    const commands = ids.map((deviceId): UpgradeCommand => {
      return Object.assign({ id: uuidv7(), deviceId, createdAt: clock.now(), expiresAt: null }, common)
    })
    await insertUpgradeCommands(tx, systemScope('rollout', org.scope.orgId), commands, { at: clock.now(), atMs: 0 })
  }

  async function step(tx: Tx): Promise<void> {
    const steps = ids.map((deviceId): DeviceUpgradeStep => {
      return { deviceId, shown: 'kept', inFlight: true, ends: false, isCommanded: true }
    })
    await updateDeviceUpgrades(tx, org.scope, steps, clock.now())
  }

  async function command(tx: Tx): Promise<void> {
    await insert(tx)
    await step(tx)
  }

  it('are deleted with their devices', async () => {
    await inTxByKeys(test.ctx, command)
    expect(await commanded()).toEqual(ids)
    await inTx(test.ctx, (tx) => deleteDevices(tx, org.scope, ids.slice(1)))
    expect(await commanded()).toEqual(ids.slice(0, 1))
  })

  it('are deleted by a deletion that begins before they are committed', async () => {
    const round = await open(command)
    const deletion = inTx(test.ctx, deleteAll)
    await untilWaiting(test, 1)
    await round.commit()
    await deletion
    expect(await commanded()).toEqual([])
  })

  it('stay if the deletion that waited for them is rolled back', async () => {
    const round = await open(command)
    const deletion = inTx(test.ctx, async (tx) => {
      await deleteAll(tx)
      throw new Error('rolled back')
    })
    const refused = expect(deletion).rejects.toThrow('rolled back')
    await untilWaiting(test, 1)
    await round.commit()
    await refused
    expect(await commanded()).toEqual(ids)
  })

  it('are refused if a deletion has begun before', async () => {
    const deletion = await open(deleteAll)
    const refused = expect(inTxByKeys(test.ctx, command)).rejects.toThrow('has been deleted')
    await untilWaiting(test, 1)
    await deletion.commit()
    await refused
    expect(await commanded()).toEqual([])
  })

  it('are refused if a deletion begins and ends between the insert and the progress', async () => {
    const round = inTxByKeys(test.ctx, async (tx) => {
      await insert(tx)
      await inTx(test.ctx, deleteAll)
      await step(tx)
    })
    await expect(round).rejects.toThrow('has been deleted')
    expect(await commanded()).toEqual([])
  })

  it('are refused if a deletion begins between the insert and the progress, and ends later', async () => {
    let deletion: OpenTx | undefined
    const round = inTxByKeys(test.ctx, async (tx) => {
      await insert(tx)
      deletion = await open(deleteAll)
      await step(tx)
    })
    const refused = expect(round).rejects.toThrow('has been deleted')
    await untilWaiting(test, 1)
    await deletion?.commit()
    await refused
    expect(await commanded()).toEqual([])
  })

  it('are inserted if the deletion for which they waited is rolled back', async () => {
    const deletion = await open(deleteAll)
    const round = inTxByKeys(test.ctx, command)
    await untilWaiting(test, 1)
    await deletion.rollBack()
    await round
    expect(await commanded()).toEqual(ids)
  })
})

it('a round of the engine that meets a deletion commands only the devices that are left', async () => {
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const ctx = { ...test.ctx, log }
  const { id } = await createOrgUpgrade(ctx, org.scope, parseOrgUpgrade({ all_sites: true, strategy: 'big_bang' }))
  const [gone = ''] = ids
  const deletion = await open((tx) => deleteDevices(tx, org.scope, [gone]))
  const advance = () => advanceRollouts(ctx, { ...defaultRolloutOptions, soakMs: 0 }, new AbortController().signal)
  const round = advance()
  await untilWaiting(test, 1)
  await deletion.commit()
  await round
  expect(logged.join('')).toContain('has been deleted')
  expect(await commanded()).toEqual([])
  clock.advance(3600e3)
  await advance()
  expect(await commanded()).toEqual(ids.slice(1))
  const targets = await ctx.db
    .selectFrom('upgradeTarget')
    .innerJoin('siteUpgrade', 'siteUpgrade.id', 'upgradeTarget.upgradeId')
    .select(['deviceId', 'state'])
    .where('orgUpgradeId', '=', id)
    .orderBy('deviceId')
    .execute()
  expect(targets[0]).toEqual({ deviceId: gone, state: 'cancelled' })
})

describe('the commands of people', () => {
  const order = { kind: 'locate', params: {} } as const

  async function queue(tx: Tx): Promise<void> {
    const place = { orgId: org.scope.orgId, siteId: org.sites[0]?.id ?? '' }
    const scope = systemScopeOf('operator', place) as SiteScope
    const devices = await shareCommandCandidates(tx, scope, ids)
    await queueCommands(tx, scope, { devices, order, at: clock.now() })
  }

  it('are deleted by a deletion that begins before they are committed', async () => {
    const request = await open(queue)
    const deletion = inTx(test.ctx, deleteAll)
    await untilWaiting(test, 1)
    await request.commit()
    await deletion
    expect(await commanded()).toEqual([])
  })

  it('are for the devices that are left if a deletion has begun before', async () => {
    const deletion = await open((tx) => deleteDevices(tx, org.scope, ids.slice(1)))
    const request = inTx(test.ctx, queue)
    await untilWaiting(test, 1)
    await deletion.commit()
    await request
    expect(await commanded()).toEqual(ids.slice(0, 1))
  })
})

describe('the restart that a device in recovery mode requests', () => {
  it('is queued', async () => {
    await recordRecovery(test.ctx, ids[0] ?? '')
    expect(await commanded()).toEqual(ids.slice(0, 1))
  })

  it('is deleted by a deletion that begins before it is committed', async () => {
    const request = await open(async (tx) => {
      await lockClaimedStatuses(tx, ids)
      await queueCommands(tx, org.scope, {
        devices: ids.map((id) => ({ id, siteId: null })),
        order: { kind: 'restart', params: {} },
        at: clock.now(),
      })
    })
    const deletion = inTx(test.ctx, deleteAll)
    await untilWaiting(test, 1)
    await request.commit()
    await deletion
    expect(await commanded()).toEqual([])
  })

  it('is not queued if a deletion has begun before', async () => {
    const deletion = await open(deleteAll)
    const request = recordRecovery(test.ctx, ids[0] ?? '')
    await untilWaiting(test, 1)
    await deletion.commit()
    await request
    expect(await commanded()).toEqual([])
  })
})
