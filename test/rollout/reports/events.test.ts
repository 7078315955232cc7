import { beforeEach, expect, it } from 'vitest'
import type { TopicEvents } from '../../../src/events/topics.ts'
import { approveOrgUpgrade } from '../../../src/upgrades/changes/approve-org-upgrade.ts'
import { cancelOrgUpgrade } from '../../../src/upgrades/changes/cancel-org-upgrade.ts'
import { pauseOrgUpgrade } from '../../../src/upgrades/changes/pause-org-upgrade.ts'
import { resumeOrgUpgrade } from '../../../src/upgrades/changes/resume-org-upgrade.ts'
import { retryOrgUpgrade } from '../../../src/upgrades/changes/retry-org-upgrade.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'
import { messageSchemaOf } from '../../../src/webhooks/topics.ts'
import { sql } from 'kysely'
import { Value } from 'typebox/value'
import { NEW, type SeededDevice } from '../../support/fleets/fleet.ts'
import { useRollout } from '../harness.ts'
import { subscribe } from '../subscribe.ts'

type UpgradeEvent = TopicEvents['upgrade-events']

const rollout = useRollout()
beforeEach(() => rollout.seed([{ devices: 3, name: 'Lab' }, 1]))

const canary: OrgUpgradeBody = {
  reboot_strategy: 'canary',
  canary_phases: [50, 100],
  max_failure_percentage: 50,
  phase_gates: [{ phase: 1, wait_for: 'approval' }],
}

/** The events that webhooks get. */
async function sent(): Promise<UpgradeEvent[]> {
  const query = rollout.ctx.db.selectFrom('webhookOutbox').select('event').where('topic', '=', 'upgrade-events')
  const rows = await query.orderBy('id').execute()
  return rows.map(({ event }) => event as unknown as UpgradeEvent) // as its topic declares
}

async function kept(id: string): Promise<UpgradeEvent[]> {
  const query = rollout.ctx.db.selectFrom('upgradeEvent').select('event').where('orgUpgradeId', '=', id)
  return (await query.orderBy('id').execute()).map(({ event }) => event)
}

/** Returns the number of events of each type. */
function typesOf(events: readonly UpgradeEvent[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const { type } of events) counts.set(type, (counts.get(type) ?? 0) + 1)
  return Object.fromEntries(counts)
}

it('subscribers get an event for each step, and events of the whole upgrade are stored', async () => {
  await subscribe(rollout)
  const { ctx, org } = rollout
  const { id } = await rollout.create(canary)
  await rollout.advance()
  await pauseOrgUpgrade(ctx, org.scope, id)
  await resumeOrgUpgrade(ctx, org.scope, id)
  await rollout.play()
  await approveOrgUpgrade(ctx, org.scope, { id, phase: 1, note: 'Seen it work' })
  const last = new Set<string>()
  await rollout.play((device: SeededDevice) => {
    last.add(device.mac)
    return last.size === 1 ? 'keeps_old' : 'upgrades'
  })
  await retryOrgUpgrade(ctx, org.scope, { id, macs: null })
  await rollout.play()
  const events = await sent()
  const ofUpgrade = {
    UPGRADE_CREATED: 1,
    UPGRADE_SITE_STARTED: 2,
    UPGRADE_PAUSED: 1,
    UPGRADE_RESUMED: 1,
    UPGRADE_HELD: 1,
    UPGRADE_APPROVED: 1,
    UPGRADE_PHASE_OPENED: 1,
    UPGRADE_RETRIED: 1,
  }
  expect(typesOf(events)).toMatchObject({
    ...ofUpgrade,
    UPGRADE_DEVICE_STARTED: 5,
    UPGRADE_DEVICE_REBOOTING: expect.any(Number),
    UPGRADE_DEVICE_FAILED: 1,
    UPGRADE_DEVICE_UPGRADED: 4,
    UPGRADE_SITE_ENDED: 3,
    UPGRADE_ENDED: 2,
  })
  const types = events.map(({ type }) => type)
  expect(types[types.indexOf('UPGRADE_HELD') - 1]).toBe('UPGRADE_DEVICE_UPGRADED')
  const schema = messageSchemaOf('upgrade-events')
  expect([...Value.Errors(schema, { topic: 'upgrade-events', events })]).toEqual([])
  expect(await kept(id)).toEqual(events.filter(({ device_id: deviceId }) => deviceId === undefined))
  expect(events.find(({ type }) => type === 'UPGRADE_APPROVED')).toMatchObject({
    phase: 1,
    note: 'Seen it work',
    admin_name: org.scope.actor.name,
  })
  expect(events.at(-1)).toMatchObject({ type: 'UPGRADE_ENDED', status: 'completed', upgraded: 4, failed: 0 })
  const records = await ctx.db.selectFrom('auditLog').select(['id', 'message', 'after']).orderBy('id').execute()
  expect(records.map(({ after }) => after?.['upgrade_id'])).toEqual(records.map(() => id))
  const named = events.flatMap(({ audit_id: auditId }) => auditId ?? [])
  expect(named).toEqual(records.map((record) => record.id))
})

it('subscribers learn of a failure, of the stop that it causes and of the devices that the stop cancels in this order', async () => {
  await rollout.seed([{ devices: 3 }])
  await subscribe(rollout)
  await rollout.create({ reboot_strategy: 'canary', canary_phases: [100], max_failure_percentage: 0, max_in_flight: 1 })
  await rollout.play(() => 'refuses_content')
  const types = (await sent()).map(({ type }) => type)
  expect(types.slice(types.indexOf('UPGRADE_DEVICE_FAILED'))).toEqual([
    'UPGRADE_DEVICE_FAILED',
    'UPGRADE_STOPPED',
    'UPGRADE_DEVICE_CANCELLED',
    'UPGRADE_DEVICE_CANCELLED',
    'UPGRADE_SITE_ENDED',
    'UPGRADE_ENDED',
  ])
})

it('events of devices are written only for subscribers, and a stopped upgrade reports the reason', async () => {
  const { ctx, org } = rollout
  const { id } = await rollout.create({ reboot_strategy: 'serial', max_failure_percentage: 0 })
  await rollout.play(() => 'refuses_content')
  expect(await sent()).toEqual([])
  const stopped = await kept(id)
  expect(typesOf(stopped)).toMatchObject({ UPGRADE_SITE_STARTED: 2, UPGRADE_SITE_ENDED: 2, UPGRADE_ENDED: 1 })
  expect(stopped.flatMap(({ type, reason }) => (type === 'UPGRADE_STOPPED' ? [reason] : []))).toEqual([
    'more than 0 % of 4 devices in all sites failed',
  ])
  // A webhook of a site gets only the events of its site, so each site learns the reason with its end.
  const ends = (events: readonly UpgradeEvent[]) =>
    events.flatMap(({ type, status, site_id: siteId, reason }) =>
      type === 'UPGRADE_SITE_ENDED' ? [{ status, siteId, reason }] : [],
    )
  const endsOf = (status: string, reason: unknown) => org.sites.map(({ id: siteId }) => ({ status, siteId, reason }))
  const failedEnds = endsOf('failed', 'more than 0 % of 4 devices in all sites failed')
  expect(ends(stopped)).toHaveLength(2)
  expect(ends(stopped)).toEqual(expect.arrayContaining(failedEnds))
  expect(stopped.at(-1)).toMatchObject({ type: 'UPGRADE_ENDED', status: 'failed', total: 4 })
  await retryOrgUpgrade(ctx, org.scope, { id, macs: null })
  await rollout.play(() => 'refuses_content')
  expect(typesOf(await kept(id))).toMatchObject({ UPGRADE_STOPPED: 2, UPGRADE_ENDED: 2 })
  const { id: other } = await rollout.create({ reboot_strategy: 'big_bang' })
  await cancelOrgUpgrade(ctx, org.scope, other)
  await rollout.play()
  expect(typesOf(await kept(other))).toEqual({
    UPGRADE_CREATED: 1,
    UPGRADE_CANCELLED: 1,
    UPGRADE_SITE_ENDED: 2,
    UPGRADE_ENDED: 1,
  })
  expect(ends(await kept(other))).toEqual(expect.arrayContaining(endsOf('cancelled', expect.any(String))))
  expect((await kept(other)).at(-1)).toMatchObject({ status: 'cancelled' })
})

it('a stopped upgrade of which a retry succeeds ends as failed for the others, and is not stopped again', async () => {
  const { id } = await rollout.create({ reboot_strategy: 'serial', max_failure_percentage: 0 })
  await rollout.play(() => 'refuses_content')
  await retryOrgUpgrade(rollout.ctx, rollout.org.scope, { id, macs: null })
  await rollout.play()
  const events = await kept(id)
  expect(typesOf(events)).toMatchObject({ UPGRADE_STOPPED: 1, UPGRADE_RETRIED: 1, UPGRADE_ENDED: 2 })
  expect(events.at(-1)).toMatchObject({ status: 'failed', failed: 0 })
})

it('the end of an upgrade counts the devices that its beginning has counted, without those that it skips', async () => {
  await rollout.fleet.connect(rollout.devices(1), NEW)
  const { id } = await rollout.create({ reboot_strategy: 'big_bang' })
  await rollout.play()
  const totals = (await kept(id)).flatMap(({ type, total }) => (total === undefined ? [] : [[type, total]]))
  expect(totals).toEqual([
    ['UPGRADE_CREATED', 3],
    ['UPGRADE_SITE_STARTED', 3],
    ['UPGRADE_SITE_ENDED', 3],
    ['UPGRADE_ENDED', 3],
  ])
})

it('a site does not start that failures elsewhere stop in the round of its start', async () => {
  await rollout.seed([1, { devices: 1, timezone: 'America/New_York' }])
  const start = new Date(rollout.clock.now().getTime() + 60_000)
  const start_datetime = start.toISOString().slice(0, 19)
  const { id } = await rollout.create({ reboot_strategy: 'serial', max_failure_percentage: 0, start_datetime })
  rollout.clock.advance(60_000)
  await rollout.advance()
  await rollout.fleet.answer(() => 'refuses_content')
  rollout.clock.advance(5 * 3600e3)
  await rollout.advance()
  expect(typesOf(await kept(id))).toMatchObject({ UPGRADE_SITE_STARTED: 1, UPGRADE_SITE_ENDED: 2, UPGRADE_ENDED: 1 })
})

it('sites that their own limits stop at the same time are one event if nothing else of the upgrade runs', async () => {
  await rollout.seed([2, 2, 2])
  const limits: OrgUpgradeBody = {
    reboot_strategy: 'canary',
    phase_scope: 'site',
    canary_phases: [50],
    max_failures: [0, 0],
  }
  const stopped = async (id: string) => (await kept(id)).filter(({ type }) => type === 'UPGRADE_STOPPED')
  const { id: whole } = await rollout.create(limits)
  await rollout.play(() => 'refuses_content')
  const [event, ...others] = await stopped(whole)
  expect([event?.reason, event?.site_upgrade_id, others]).toEqual(['more than 0 failures in phase 1', undefined, []])
  const { message } = await rollout.ctx.db
    .selectFrom('auditLog')
    .select('message')
    .where('id', '=', event?.audit_id ?? '')
    .executeTakeFirstOrThrow()
  expect(message).toBe(`Upgrade ${whole} stopped at 3 sites by their limits: more than 0 failures in phase 1`)
  const last = new Set(rollout.devices(2).map(({ mac }) => mac))
  const { id: parts } = await rollout.create(limits)
  await rollout.play(({ mac }) => (last.has(mac) ? 'upgrades' : 'refuses_content'))
  const sites = rollout.org.sites.slice(0, 2).map((site) => site.id)
  expect((await stopped(parts)).map(({ site_id: siteId }) => siteId)).toEqual(sites)
})

it('a site that was stopped before its first device starts when a retry commands one', async () => {
  await rollout.seed([1, { devices: 1, timezone: 'America/New_York' }])
  const { ctx, org } = rollout
  const [begins, waits] = org.sites.map((site) => site.id)
  const start_datetime = new Date(rollout.clock.now().getTime() + 60_000).toISOString().slice(0, 19)
  const { id } = await rollout.create({ reboot_strategy: 'serial', max_failure_percentage: 0, start_datetime })
  rollout.clock.advance(60_000)
  await rollout.play(() => 'refuses_content')
  const started = async () =>
    (await kept(id)).flatMap(({ type, site_id: siteId }) => (type === 'UPGRADE_SITE_STARTED' ? [siteId] : []))
  expect(await started()).toEqual([begins])
  // Its device failed without a command, as one does for which no window is long enough.
  await sql`
    update upgrade_target target set state = 'failed', reason = 'window_too_short' from site_upgrade part
    where part.id = target.upgrade_id and part.site_id = ${waits}`.execute(ctx.db)
  await sql`
    update site_upgrade set counts = counts || '{"cancelled": 0, "failed": 1}', hard_failures = '{"1": 1}'
    where site_id = ${waits}`.execute(ctx.db)
  await sql`update org_upgrade set hard_failures = 2`.execute(ctx.db)
  await retryOrgUpgrade(ctx, org.scope, { id, macs: null })
  expect((await rollout.read(id)).siteUpgrades.map(({ status }) => status)).toEqual(['upgrading', 'queued'])
  await rollout.play()
  expect(await started()).toEqual([begins, waits])
  expect((await kept(id)).at(-1)).toMatchObject({ type: 'UPGRADE_ENDED', status: 'completed' })
})

it('a site starts with its first device, not with the phase of another site', async () => {
  const { ctx, org } = rollout
  const [first = '', second] = org.sites.map((site) => site.id)
  const startedSites = async (id: string): Promise<unknown[]> =>
    (await kept(id)).flatMap(({ type, site_id: site, phase }) =>
      type === 'UPGRADE_SITE_STARTED' ? [[site, phase]] : [],
    )
  const { id } = await rollout.create({
    reboot_strategy: 'canary',
    canary_groups: [{ site_ids: [first] }],
    phase_gates: [{ phase: 1, wait_for: 'approval' }],
  })
  await rollout.play()
  expect(await startedSites(id)).toEqual([[first, 1]])
  await approveOrgUpgrade(ctx, org.scope, { id, phase: 1, note: null })
  await rollout.play()
  expect(await startedSites(id)).toEqual([
    [first, 1],
    [second, 2],
  ])
})

it('a device that another upgrade takes over is an event of the upgrade that loses it', async () => {
  await subscribe(rollout)
  const old = await rollout.create({ start_datetime: '2026-03-02T12:00:00Z' })
  const young = await rollout.create({ supersede: true })
  const events = (await sent()).filter(({ type }) => type === 'UPGRADE_DEVICE_CANCELLED')
  expect(new Set(events.map(({ mac }) => mac))).toEqual(new Set(rollout.devices().map(({ mac }) => mac)))
  for (const event of events) {
    expect(event).toMatchObject({ upgrade_id: old.id, phase: 1, reason: `taken over by upgrade ${young.id}` })
    expect(rollout.org.sites.map(({ id }) => id)).toContain(event.site_id)
  }
  expect(typesOf(await kept(old.id))).toEqual({ UPGRADE_CREATED: 1, UPGRADE_DEVICES_TAKEN: 1 })
})
