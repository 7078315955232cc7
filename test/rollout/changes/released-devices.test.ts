// An upgrade keeps its devices: a release of one is refused until its target has ended, also while the upgrade gets it.
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { assignDevices } from '../../../src/devices/commands/store-upgrades.ts'
import { assignDevices as assignToSite } from '../../../src/devices/inventory/assign-devices.ts'
import { claimDevicesIn } from '../../../src/devices/inventory/claim-devices.ts'
import { unclaimDevices } from '../../../src/devices/inventory/unclaim-devices.ts'
import { type Tx, inTx } from '../../../src/platform/database/db.ts'
import { uuidv7 } from '../../../src/platform/uuidv7.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { includeAll } from '../../../src/upgrades/include-new.worker.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { openTx } from '../../support/database/open-tx.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { OLD } from '../../support/fleets/fleet.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { countAll, options, useRollout } from '../harness.ts'

const rollout = useRollout()
const later = '2026-03-02T12:00:00Z'
const BUSY = 'in a running upgrade'
const NEVER = 'answers nothing'

const capabilities = {
  commands: ['stage', 'activate', 'upgrade', 'restore_backup'],
  restart_members: [],
  restart_nodes: [],
  backup_version: OLD,
} as const
const oneStep = { ...capabilities, commands: ['upgrade', 'restore_backup'] } as const

/** Releases all devices. @returns The reasons of those that are refused. */
async function releaseIn(tx: Tx): Promise<string[]> {
  const { ctx, org } = rollout
  const macs = rollout.devices().map(({ mac }) => mac)
  const { refused } = await unclaimDevices(tx, org.scope, { names: { macs, serials: [] }, at: ctx.clock.now() })
  return refused.map(({ reason }) => reason)
}

const release = (): Promise<string[]> => inTx(rollout.ctx, releaseIn)

interface Course {
  readonly body?: OrgUpgradeBody
  readonly isOneStep?: boolean
  readonly reply?: 'does' | 'dies' | 'fetches' | typeof NEVER
  readonly isLate?: boolean
  readonly offline?: boolean
}

it.each<[string, Course]>([
  ['planned', { body: { start_datetime: later }, reply: NEVER }],
  ['deferred', { offline: true, reply: NEVER }],
  ['dl_requested', { isOneStep: true, reply: NEVER }],
  ['downloading', { isOneStep: true, reply: 'fetches' }],
  ['downloaded', { body: { reboot_datetime: later }, reply: 'does' }],
  ['rebooting', { isOneStep: true, reply: 'dies' }],
  ['rolling_back', { isOneStep: true, reply: 'dies', isLate: true }],
])('a device that is %s is not released, and is once its target has ended', async (state, course) => {
  const { body, isOneStep = false, reply, isLate = false, offline = false } = course
  await rollout.seed([{ devices: 1, capabilities: isOneStep ? oneStep : capabilities }], { online: !offline })
  const { id } = await rollout.create({
    ...body,
    rollback_on_failure: true,
    max_failure_percentage: 100,
    strategy: 'big_bang',
  })
  await rollout.advance()
  if (reply !== undefined && reply !== NEVER) await rollout.play(() => reply)
  if (isLate) rollout.clock.advance(options.rebootTimeoutMs.ap + options.reconnectGraceMs)
  await rollout.advance()
  expect(countAll(await rollout.read(id))).toEqual({ [state]: 1 })
  expect(await release()).toEqual([BUSY])
  await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, id)
  for (let hours = 0; hours < 6; hours += 1) {
    await rollout.advance()
    rollout.clock.advance(3600e3)
  }
  await expectConsistent(rollout.ctx)
  expect(await release()).toEqual([])
})

/** Starts a release while the change has the devices, and has yet to record that. */
async function releaseDuring(change: () => Promise<unknown>): Promise<string[]> {
  const { ctx } = rollout
  const lock = await openTx(ctx, (tx) => sql`lock table upgrade_event in exclusive mode`.execute(tx))
  const changed = change()
  await untilWaiting(rollout, 1)
  const released = release()
  await untilWaiting(rollout, 2)
  await lock.commit()
  await changed
  await expectConsistent(ctx)
  return released
}

describe('a device that an upgrade is just getting is not released', () => {
  it('by its creation, with or without a takeover', async () => {
    await rollout.seed([2])
    expect(await releaseDuring(() => rollout.create({ start_datetime: later }))).toEqual([BUSY, BUSY])
    const taking = { supersede: true, start_datetime: later }
    expect(await releaseDuring(() => rollout.create(taking))).toEqual([BUSY, BUSY])
  })

  it('by a retry', async () => {
    await rollout.seed([2])
    const { id } = await rollout.create({ strategy: 'big_bang' })
    await rollout.play(() => 'refuses_content')
    const retry = () => retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
    expect(await releaseDuring(retry)).toEqual([BUSY, BUSY])
    await rollout.play()
    expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2 })
  })

  it('by joining one', async () => {
    await rollout.seed([1, 1])
    const [, second] = rollout.org.sites
    const other = await rollout.create({ all_sites: false, site_ids: [second?.id ?? ''], start_datetime: later })
    const { id } = await rollout.create({ include_new: true, start_datetime: later })
    await cancelOrgUpgrade(rollout.ctx, rollout.org.scope, other.id)
    await rollout.advance()
    expect(countAll(await rollout.read(id))).toEqual({ planned: 1 })
    rollout.clock.advance(61_000)
    expect(await releaseDuring(() => includeAll(rollout.ctx))).toEqual([BUSY, BUSY])
    expect(countAll(await rollout.read(id))).toEqual({ planned: 2 })
  })
})

describe('a release beside an assignment to an upgrade', () => {
  let ids: string[]
  beforeEach(async () => {
    ids = (await rollout.seed([3])).map(({ id }) => id).toSorted()
  })

  /** Assigns all devices but one. */
  async function assign(tx: Tx): Promise<ReadonlySet<string>> {
    const [upgradeId, orgUpgradeId, imageId] = [uuidv7(), uuidv7(), uuidv7()]
    const wanted = ids.slice(1).map((deviceId) => ({ deviceId, upgradeId, orgUpgradeId, imageId, laterImages: null }))
    return assignDevices(tx, rollout.org.scope, wanted, rollout.clock.now())
  }

  async function left(): Promise<string[]> {
    const rows = await rollout.ctx.db.selectFrom('device').select('id').orderBy('id').execute()
    return rows.map(({ id }) => id)
  }

  it('refuses the devices that are assigned at the same time', async () => {
    const creation = await openTx(rollout.ctx, assign)
    const released = release()
    await untilWaiting(rollout, 1)
    await creation.commit()
    expect(await released).toEqual([BUSY, BUSY])
    expect(await left()).toEqual(ids.slice(1))
  })

  it('releases them if the upgrade is not created after all', async () => {
    const creation = await openTx(rollout.ctx, assign)
    const released = release()
    await untilWaiting(rollout, 1)
    await creation.rollBack()
    expect(await released).toEqual([])
    expect(await left()).toEqual([])
  })

  it('comes before one that begins later', async () => {
    const released = await openTx(rollout.ctx, releaseIn)
    const creation = inTx(rollout.ctx, assign)
    await untilWaiting(rollout, 1)
    await released.commit()
    expect(await creation).toEqual(new Set())
  })
})

it('a device that is released and claimed again while an upgrade is created is in none', async () => {
  const { ctx } = rollout
  const [first] = await rollout.seed([2])
  const change = await openTx(ctx, async (tx) => {
    const { scope } = rollout.org
    const names = { macs: [first?.mac ?? ''], serials: [] }
    await unclaimDevices(tx, scope, { names, at: ctx.clock.now() })
    const known = tx
      .selectFrom('deviceRegistry')
      .select('claimCode')
      .where('id', '=', first?.id ?? '')
    const { claimCode } = await known.executeTakeFirstOrThrow()
    const { added } = await claimDevicesIn(tx, scope, { codes: [claimCode], at: ctx.clock.now() })
    expect(added.map(({ device }) => device.id)).toEqual([first?.id])
  })
  const created = rollout.create({ start_datetime: later })
  await untilWaiting(rollout, 1)
  await change.commit()
  expect(countAll(await created)).toEqual({ planned: 1 })
  await expectConsistent(ctx)
})

it('a device that is moved to another site while its upgrade is paused stays in the upgrade', async () => {
  await rollout.seed([2, 1])
  const { ctx, org } = rollout
  const [from, to] = org.sites
  const { id } = await rollout.create({ site_ids: [from?.id ?? ''], all_sites: false, reboot_strategy: 'serial' })
  await pauseOrgUpgrade(ctx, org.scope, id)
  const [moved] = rollout.devices(0)
  const names = { macs: [moved?.mac ?? ''], serials: [] }
  const request = { names, siteId: to?.id ?? '', noReassign: false, settings: {}, at: ctx.clock.now() }
  await inTx(ctx, (tx) => assignToSite(tx, org.scope, request))
  await resumeOrgUpgrade(ctx, org.scope, id)
  await rollout.play()
  expect(countAll(await rollout.read(id))).toEqual({ upgraded: 2 })
})
