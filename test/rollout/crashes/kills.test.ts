// `kill -9` of the process that changes an upgrade, before and after the commit of each change that can interrupt or divert it.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NEW, OLD } from '../../support/fleets/fleet.ts'
import { databaseState } from '../../support/database/database-state.ts'
import { type Change, type KilledProcesses, prepareKills } from '../../support/servers/kill-at-commit.ts'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { expectConsistent } from '../expect-consistent.ts'
import { options, useRollout } from '../harness.ts'
import { subscribe } from '../subscribe.ts'

/** Two processes start for each case. */
const WITHIN_MS = 120_000

const rollout = useRollout()
let processes: KilledProcesses
beforeAll(async () => {
  processes = await prepareKills()
})
afterAll(() => processes.close())

interface Case {
  readonly name: string
  readonly change: Change
  /** The table that the killed transaction writes. */
  readonly table: string
  /** @returns The id of the upgrade that is about to change. */
  readonly prepare: () => Promise<string>
  /** Audit records of the change, without the id of the upgrade, and its events. */
  readonly audit: readonly string[]
  readonly events: readonly string[]
  /** States of all targets after the change. */
  readonly becomes: Readonly<Record<string, number>>
  /** Completes the upgrade. */
  readonly finish?: (id: string) => Promise<void>
  readonly ends: Readonly<Record<string, number>>
  /** The number of commands to each device, in the order of their numbers. */
  readonly commands: readonly number[]
}

const canary = { strategy: 'canary', canary_phases: [50] }
const restorable = { commands: ['upgrade', 'restore_backup'], restart_members: [], restart_nodes: [] } as const

async function begun(body: Parameters<typeof rollout.create>[0], sites: readonly number[] = [4]): Promise<string> {
  await rollout.seed(sites)
  const { id } = await rollout.create(body)
  await rollout.advance()
  return id
}

const cases: readonly Case[] = [
  {
    name: 'a pause',
    change: 'pause',
    table: 'site_upgrade',
    prepare: () => begun(canary),
    audit: ['Pause upgrade'],
    events: ['UPGRADE_PAUSED'],
    becomes: { dl_requested: 2, planned: 2 },
    finish: (id) => resumeOrgUpgrade(rollout.ctx, rollout.org.scope, id),
    ends: { upgraded: 4 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'the end of a pause',
    change: 'resume',
    table: 'site_upgrade',
    async prepare() {
      const id = await begun(canary)
      await pauseOrgUpgrade(rollout.ctx, rollout.org.scope, id)
      await rollout.play()
      return id
    },
    audit: ['Resume upgrade'],
    events: ['UPGRADE_RESUMED'],
    becomes: { planned: 4 },
    ends: { upgraded: 4 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'the approval of a gate',
    change: 'approve',
    table: 'site_upgrade',
    async prepare() {
      const id = await begun({ ...canary, phase_gates: [{ phase: 1, wait_for: 'approval' }] })
      await rollout.play()
      return id
    },
    audit: ['Approve phase 1 of upgrade'],
    events: ['UPGRADE_APPROVED'],
    becomes: { upgraded: 2, planned: 2 },
    ends: { upgraded: 4 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'the approval of a start',
    change: 'begin',
    table: 'site_upgrade',
    prepare: () => begun({ phase_gates: [{ phase: 0, wait_for: 'approval' }] }),
    audit: ['Approve the start (phase 0) of upgrade'],
    events: ['UPGRADE_APPROVED'],
    becomes: { planned: 4 },
    ends: { upgraded: 4 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'the end of the time of a gate',
    change: 'wait',
    table: 'site_upgrade',
    async prepare() {
      const id = await begun({ ...canary, phase_gates: [{ phase: 1, wait_for: 'time', minutes: 5 }] })
      await rollout.play()
      rollout.clock.advance(300_000)
      return id
    },
    audit: ['The wait after phase 1 of upgrade ended'],
    events: ['UPGRADE_WAIT_ENDED'],
    becomes: { upgraded: 2, planned: 2 },
    ends: { upgraded: 4 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'the instant of a gate with an approval',
    change: 'wait',
    table: 'site_upgrade',
    async prepare() {
      const notBefore = rollout.clock.now().getTime() / 1000 + 300
      const id = await begun({ ...canary, phase_gates: [{ phase: 1, wait_for: 'approval', not_before: notBefore }] })
      await rollout.play()
      await approveOrgUpgrade(rollout.ctx, rollout.org.scope, { id, phase: 1, note: null })
      await rollout.play()
      rollout.clock.advance(300_000)
      return id
    },
    audit: ['The wait after phase 1 of upgrade ended'],
    events: ['UPGRADE_WAIT_ENDED'],
    becomes: { upgraded: 2, planned: 2 },
    ends: { upgraded: 4 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'the end time',
    change: 'end',
    table: 'site_upgrade',
    async prepare() {
      const id = await begun({ ...canary, end_time: rollout.clock.now().getTime() / 1000 + 300 })
      rollout.clock.advance(300_000)
      return id
    },
    audit: ['Upgrade ended at its end_time, 2026-03-01T12:05:00.000Z'],
    events: ['UPGRADE_END_REACHED'],
    becomes: { dl_requested: 2, planned: 2 },
    ends: { cancelled: 4 },
    commands: [],
  },
  {
    name: 'a retry',
    change: 'retry',
    table: 'upgrade_target',
    async prepare() {
      const id = await begun({ strategy: 'big_bang' })
      await rollout.play(() => 'keeps_old')
      return id
    },
    audit: ['Retry 4 failed devices of upgrade'],
    events: ['UPGRADE_RETRIED'],
    becomes: { planned: 4 },
    ends: { upgraded: 4 },
    commands: [2, 2, 2, 2],
  },
  {
    name: 'a takeover',
    change: 'supersede',
    table: 'upgrade_target',
    prepare: () => begun(canary),
    audit: ['Upgrade takes 2 devices over from upgrade', `Upgrade 2 devices to ${NEW}`],
    events: ['UPGRADE_DEVICES_TAKEN', 'UPGRADE_DEVICE_CANCELLED', 'UPGRADE_DEVICE_CANCELLED', 'UPGRADE_CREATED'],
    becomes: { dl_requested: 2, cancelled: 2, planned: 2 },
    ends: { upgraded: 4, cancelled: 2 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'an exclusion',
    change: 'exclude',
    table: 'upgrade_target',
    prepare: () => begun(canary),
    audit: ['Exclude 2 devices from upgrade'],
    events: ['UPGRADE_DEVICES_EXCLUDED', 'UPGRADE_DEVICE_CANCELLED', 'UPGRADE_DEVICE_CANCELLED'],
    becomes: { cancelled: 2, planned: 2 },
    ends: { cancelled: 2, upgraded: 2 },
    commands: [1, 1],
  },
  {
    name: 'the joining of devices',
    change: 'include',
    table: 'upgrade_target',
    async prepare() {
      await rollout.seed([2, 2])
      await rollout.fleet.disconnect(rollout.devices(0).slice(0, 1))
      const site = rollout.org.sites[0]?.id ?? ''
      const { id } = await rollout.create({ site_ids: [site], all_sites: false, include_new: true })
      await rollout.play()
      await rollout.ctx.db.updateTable('device').set({ siteId: site }).execute()
      rollout.clock.advance(61_000)
      return id
    },
    audit: ['Upgrade takes in 2 further devices'],
    events: ['UPGRADE_DEVICES_JOINED'],
    becomes: { upgraded: 1, deferred: 1, planned: 2 },
    finish: () => rollout.fleet.connect(rollout.devices(0).slice(0, 1)),
    ends: { upgraded: 4 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'the opening of a maintenance window',
    change: 'round',
    table: 'upgrade_target',
    async prepare() {
      const id = await begun({ maintenance_windows: [{ start: '13:00', end: '14:00' }] })
      rollout.clock.advance(3600e3)
      return id
    },
    audit: [],
    events: ['UPGRADE_SITE_STARTED', ...Array.from({ length: 4 }, () => 'UPGRADE_DEVICE_STARTED')],
    becomes: { dl_requested: 4 },
    ends: { upgraded: 4 },
    commands: [1, 1, 1, 1],
  },
  {
    name: 'the begin of a restore',
    change: 'round',
    table: 'upgrade_target',
    async prepare() {
      await rollout.seed([{ devices: 1, capabilities: { ...restorable, backup_version: OLD } }])
      const more = { rollback_on_failure: true, max_failure_percentage: 100 }
      const { id } = await rollout.create({ strategy: 'canary', ...more })
      await rollout.play(() => 'dies')
      rollout.clock.advance(options.rebootTimeoutMs.ap + options.reconnectGraceMs)
      return id
    },
    audit: [],
    events: ['UPGRADE_DEVICE_RESTORING'],
    becomes: { rolling_back: 1 },
    async finish() {
      await rollout.fleet.connect(rollout.devices(), NEW)
      await rollout.play(() => 'keeps_old')
    },
    ends: { failed: 1 },
    commands: [2],
  },
  {
    name: 'a cancellation',
    change: 'cancel',
    table: 'site_upgrade',
    prepare: () => begun(canary),
    audit: ['Cancel upgrade'],
    events: ['UPGRADE_CANCELLED'],
    becomes: { dl_requested: 2, planned: 2 },
    ends: { cancelled: 4 },
    commands: [],
  },
]

/** The states of the targets of all upgrades. */
async function statesOf(): Promise<Record<string, number>> {
  const rows = await rollout.ctx.db.selectFrom('upgradeTarget').select('state').execute()
  return Object.fromEntries([...Map.groupBy(rows, ({ state }) => state)].map(([state, some]) => [state, some.length]))
}

/** Returns the records of upgrades, in order, without ids. */
async function recordsOf() {
  const { db } = rollout.ctx
  const audit = await db.selectFrom('auditLog').select('message').orderBy('id').execute()
  const outbox = await db
    .selectFrom('webhookOutbox')
    .select('event')
    .where('topic', '=', 'upgrade-events')
    .orderBy('id')
    .execute()
  const messages = audit.map(({ message }) => message.replace(/ ?[0-9a-f-]{36}/g, ''))
  return { audit: messages, events: outbox.map(({ event }) => String(event?.['type'])) }
}

/** The table in which a dead worker leaves its claim, which is committed before the change. */
const claims: Partial<Record<Change, string>> = { round: 'site_upgrade', include: 'org_upgrade', wait: 'org_upgrade' }
/** Claims of a dead worker are over, and it is the time of the next look. */
const REST_MS = 61_000

it.each(cases)(
  '$name is there as a whole or not at all',
  async ({ change, table, prepare, audit, events, becomes, finish, ends, commands }) => {
    const id = await prepare()
    await subscribe(rollout)
    const { ctx, connection, clock, org } = rollout
    const subject = { orgId: org.scope.orgId, id }
    const killAt = async (moment: 'before' | 'after') => {
      const nowMs = clock.now().getTime()
      await processes.kill(ctx.db, { connection, nowMs, change, subject, table, moment })
      await expectConsistent(ctx)
      clock.advance(REST_MS)
    }
    const all = async () => {
      const { [claims[change] ?? '']: _, ...tables } = await databaseState(ctx.db)
      return { tables, shown: await rollout.read(id), records: await recordsOf() }
    }
    const before = await all()
    await killAt('before')
    expect(await all()).toEqual(before)
    await killAt('after')
    const after = await recordsOf()
    expect(await statesOf()).toEqual(becomes)
    expect(after.audit.slice(before.records.audit.length)).toEqual(audit)
    expect(after.events.slice(before.records.events.length)).toEqual(events)
    await finish?.(id)
    await rollout.play()
    await expectConsistent(ctx)
    expect(await statesOf()).toEqual(ends)
    expect([...rollout.fleet.attempts.values()]).toEqual(commands)
  },
  WITHIN_MS,
)
