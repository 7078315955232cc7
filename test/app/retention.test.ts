import { Writable } from 'node:stream'
import { sql } from 'kysely'
import { pino } from 'pino'
import { UUID, uuidv7 } from 'uuidv7'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { kindOf } from '../../src/events/device-event-types.ts'
import { agingDeviceEvents, agingPlaces } from '../../src/events/store-retention.ts'
import { type Retention, deletePastRetention, retentionTasks } from '../../src/app/retention.ts'
import { type SiteScope, systemScopeOf } from '../../src/access/scope.ts'
import { deleteOldRows } from '../../src/platform/database/retention.ts'
import { deleteSite } from '../../src/removal/delete-site.ts'
import { addMs } from '../../src/platform/time/clock.ts'
import { eventPlace } from '../support/database/event-place.ts'
import { type SeededDevice, type SeededOrg, seedOrg } from '../support/fleets/fleet.ts'
import { type TestContext, createTestContext } from '../support/servers/server.ts'
import { createTestClock } from '../support/test-clock.ts'

const DAY_MS = 24 * 3600e3
const retention: Retention = { auditDays: 365, eventDays: 90, commandDays: 30, upgradeDays: 400 }

let context: TestContext
let org: SeededOrg
beforeEach(async () => {
  context = await createTestContext(createTestClock())
  org = await seedOrg(context.ctx, [{ devices: 3 }])
})
afterEach(() => context.close())

const daysAgo = (days: number): Date => addMs(context.ctx.clock.now(), -days * DAY_MS)
const orgId = () => org.scope.orgId
const prune = () => deletePastRetention(context.ctx, retention)

function device(index: number): SeededDevice {
  const found = org.sites[0]?.devices[index]
  if (found === undefined) throw new Error(`no device ${index}`)
  return found
}

async function count(table: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from ${sql.table(table)}`.execute(context.ctx.db)
  return rows[0]?.n ?? 0
}

/** Returns the texts of `column`, in order. */
async function texts(table: string, column: string): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select ${sql.ref(column)}::text as text from ${sql.table(table)} order by 1`.execute(context.ctx.db)
  return rows.map(({ text }) => text)
}

async function addRecord(days: number, of = orgId()): Promise<void> {
  await sql`insert into audit_log (org_id, id, message, created_at)
    values (${of}, ${uuidv7()}, ${`${days} days`}, ${daysAgo(days)})`.execute(context.ctx.db)
}

async function addEvents(days: number, rows = 1, siteId: string | null = null): Promise<void> {
  const { org, place } = eventPlace(orgId(), siteId)
  await sql`insert into device_event_row (org, place, id, device_id, kind, device_name, event, created_at)
    select ${org}, ${place}, gen_random_uuid(), ${device(0).id}::uuid, ${kindOf('ap', 'CONNECTED')}::smallint, ${`${days} days`},
      '{}', ${daysAgo(days)}
    from generate_series(1, ${sql.lit(rows)})`.execute(context.ctx.db)
}

interface CommandSeed {
  readonly state: 'queued' | 'sent' | 'done' | 'expired'
  readonly days: number
  readonly siteUpgradeId?: string
}

let commands = 0

/** Inserts a command with a download that was touched when it ended. */
async function addCommand(name: string, { state, days, siteUpgradeId }: CommandSeed): Promise<void> {
  const { db } = context.ctx
  const at = daysAgo(days)
  commands += 1
  const id = UUID.fromFieldsV7(at.getTime(), 0, 0, commands).toString()
  const ended = state === 'done' || state === 'expired'
  await sql`insert into device_command (org_id, id, device_id, site_upgrade_id, kind, params, state, created_at, expires_at, finished_at)
    values (${orgId()}, ${id}, ${device(0).id}, ${siteUpgradeId ?? null}, 'upgrade', ${JSON.stringify({ name })}::jsonb, ${state},
      ${at}, ${at}, ${ended ? at : null})`.execute(db)
  await sql`insert into firmware_download (org_id, command_id, image_id, started_at, touched_at, fenced_at)
    values (${orgId()}, ${id}, ${org.imageId}, ${at}, ${at}, ${at})`.execute(db)
}

const commandNames = async (): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`select params ->> 'name' as name from device_command order by 1`.execute(
    context.ctx.db,
  )
  return rows.map(({ name }) => name)
}

/**
 * Inserts an upgrade created 500 days ago, with a site upgrade for each end time; null stands for one that still runs.
 */
async function addUpgrade(version: string, ended: readonly (number | null)[], targets = 2): Promise<string[]> {
  const { db } = context.ctx
  const [id, createdAt] = [uuidv7(), daysAgo(500)]
  await sql`insert into org_upgrade (org_id, id, request, strategy, target_version, force, enable_p2p, planned, created_at)
    values (${orgId()}, ${id}, '{}', 'big_bang', ${version}, false, false, 0, ${createdAt})`.execute(db)
  const siteUpgradeIds: string[] = []
  for (const days of ended) {
    const siteUpgradeId = uuidv7()
    await sql`insert into site_upgrade (org_id, id, org_upgrade_id, site_id, status, start_at, reboot_at, plan, counts,
        total, created_at, finished_at)
      values (${orgId()}, ${siteUpgradeId}, ${id}, ${uuidv7()}, ${days === null ? 'upgrading' : 'completed'}, ${createdAt},
        ${createdAt}, '{}', '{}', ${targets}, ${createdAt}, ${days === null ? null : daysAgo(days)})`.execute(db)
    await sql`insert into upgrade_target (org_id, upgrade_id, device_id, mac, model, phase, ordinal, image_id,
        target_version, force, state, entered_at)
      select ${orgId()}::uuid, ${siteUpgradeId}::uuid, gen_random_uuid(), '', '', 1, n, ${org.imageId}::uuid, ${version}, false,
        'upgraded', ${createdAt} from generate_series(1, ${sql.lit(targets)}) n`.execute(db)
    siteUpgradeIds.push(siteUpgradeId)
  }
  return siteUpgradeIds
}

describe('retention', () => {
  it('deletes audit records after a year, including those of deleted organizations', async () => {
    for (const days of [364, 366]) {
      await addRecord(days)
      await addRecord(days, uuidv7())
    }
    const adminId = uuidv7()
    await sql`insert into admin (id, email, first_name, last_name, created_at)
      values (${adminId}, 'a@example.test', '', '', ${daysAgo(400)})`.execute(context.ctx.db)
    for (const days of [364, 366])
      await sql`insert into account_log (admin_id, id, message, created_at)
        values (${adminId}, ${uuidv7()}, ${`${days} days`}, ${daysAgo(days)})`.execute(context.ctx.db)
    await prune()
    expect(await texts('audit_log', 'message')).toEqual(['364 days', '364 days'])
    expect(await texts('account_log', 'message')).toEqual(['364 days'])
  })

  it('deletes any number of events after 90 days, except those that wait for webhooks', async () => {
    await addEvents(89)
    await addEvents(91, 5001)
    for (const days of [89, 91])
      await sql`insert into mxedge_event (org_id, id, mxedge_id, type, event, created_at)
        values (${orgId()}, ${uuidv7()}, ${uuidv7()}, ${`${days} days`}, '{}', ${daysAgo(days)})`.execute(
        context.ctx.db,
      )
    await sql`insert into webhook_outbox (id, org_id, topic, event, created_at)
      values (${uuidv7()}, ${orgId()}, 'device-events', '{}', ${daysAgo(1000)})`.execute(context.ctx.db)
    await prune()
    expect(await texts('device_event', 'device_name')).toEqual(['89 days'])
    expect(await texts('mxedge_event', 'type')).toEqual(['89 days'])
    expect(await count('webhook_outbox')).toBe(1)
  })

  it('deletes the place of a deleted site once the last of its events is old, and no other place', async () => {
    const { db } = context.ctx
    const siteId = uuidv7()
    await sql`insert into site (org_id, id, name, timezone, doc, created_at, modified_at)
      select org_id, ${siteId}::uuid, 'Closed', timezone, doc, created_at, modified_at from site limit 1`.execute(db)
    const scope = systemScopeOf('operator', { orgId: orgId(), siteId }) as SiteScope
    const places = () => count('event_place')
    const before = await places()
    await deleteSite(context.ctx, scope)
    await prune()
    expect(await places()).toBe(before)
    await sql`update event_place set deleted_at = ${daysAgo(91)} where deleted_at is not null`.execute(db)
    await addEvents(92, 1, siteId)
    await deleteOldRows(context.ctx, [{ rows: [agingPlaces], before: daysAgo(90) }])
    expect(await places()).toBe(before)
    await prune()
    expect([await places(), await count('device_event_row')]).toEqual([before - 1, 0])
  })

  it('deletes commands and their downloads 30 days after their end, except those of running upgrades', async () => {
    const [running] = await addUpgrade('running', [null])
    const [over] = await addUpgrade('over', [1])
    if (running === undefined || over === undefined) throw new Error('no upgrade')
    await addCommand('done long ago', { state: 'done', days: 31 })
    await addCommand('expired long ago', { state: 'expired', days: 31 })
    await addCommand('of an upgrade that is over', { state: 'done', days: 31, siteUpgradeId: over })
    await addCommand('done lately', { state: 'done', days: 29 })
    await addCommand('never sent', { state: 'queued', days: 500 })
    await addCommand('without an answer', { state: 'sent', days: 500 })
    await addCommand('of an upgrade that goes on', { state: 'done', days: 500, siteUpgradeId: running })
    await prune()
    const kept = ['done lately', 'never sent', 'of an upgrade that goes on', 'without an answer']
    expect(await commandNames()).toEqual(kept)
    expect(await count('firmware_download')).toBe(kept.length)
  })

  it('deletes commands to edge appliances 30 days after their end', async () => {
    const { db } = context.ctx
    const mxedgeId = uuidv7()
    const at = daysAgo(500)
    await sql`insert into mxedge (org_id, id, name, model, registration_code, created_at, modified_at)
      values (${orgId()}, ${mxedgeId}, 'Edge', 'ME-VM', ${mxedgeId}, ${at}, ${at})`.execute(db)
    for (const [state, days] of [
      ['done', 31],
      ['done', 29],
      ['queued', 500],
    ] as const) {
      const endedAt = state === 'done' ? daysAgo(days) : null
      await sql`insert into mxedge_command (org_id, id, mxedge_id, kind, params, state, created_at, expires_at, finished_at)
        values (${orgId()}, ${uuidv7()}, ${mxedgeId}, 'configure', '{}', ${state}, ${at}, ${at}, ${endedAt})`.execute(
        db,
      )
    }
    await prune()
    const { rows } = await sql<{ state: string }>`select state from mxedge_command order by state`.execute(db)
    expect(rows.map(({ state }) => state)).toEqual(['done', 'queued'])
  })

  it('deletes upgrades of edge appliances 400 days after their end, and no command of a running one', async () => {
    const { db } = context.ctx
    const at = daysAgo(500)
    const mxedgeId = uuidv7()
    await sql`insert into mxedge (org_id, id, name, model, registration_code, created_at, modified_at)
      values (${orgId()}, ${mxedgeId}, 'Edge', 'ME-VM', ${mxedgeId}, ${at}, ${at})`.execute(db)
    for (const [status, days] of [
      ['completed', 401],
      ['failed', 399],
      ['upgrading', null],
    ] as const) {
      const id = uuidv7()
      await sql`insert into mxedge_upgrade (org_id, id, request, plan, status, counts, notes, start_at, created_at, finished_at)
        values (${orgId()}, ${id}, '{}', '{}', ${status}, '{}', '[]', ${at}, ${at},
          ${days === null ? null : daysAgo(days)})`.execute(db)
      await sql`insert into mxedge_upgrade_target (org_id, upgrade_id, mxedge_id, name, phase, wave, ordinal,
          registration_epoch, steps, state, entered_ms)
        values (${orgId()}, ${id}, ${mxedgeId}, 'Edge', 1, 1, 1, 0, '[]', 'upgraded', 0)`.execute(db)
      await sql`insert into mxedge_command (org_id, id, mxedge_id, kind, params, state, created_at, expires_at,
          finished_at, upgrade_id, upgrade_attempt)
        values (${orgId()}, ${uuidv7()}, ${mxedgeId}, 'upgrade_distro', ${JSON.stringify({ status })}::jsonb, 'done', ${at},
          ${at}, ${at}, ${id}, 1)`.execute(db)
    }
    await prune()
    expect(await texts('mxedge_upgrade', 'status')).toEqual(['failed', 'upgrading'])
    expect(await count('mxedge_upgrade_target')).toBe(2)
    expect(await texts('mxedge_command', 'params')).toEqual(['{"status": "upgrading"}'])
  })

  it('deletes downloads whose command was deleted with its device', async () => {
    await addCommand('lately', { state: 'done', days: 29 })
    await addCommand('long ago', { state: 'done', days: 31 })
    await context.ctx.db.deleteFrom('deviceCommand').execute()
    await prune()
    expect(await count('firmware_download')).toBe(1)
  })

  it('deletes upgrades 400 days after their last site ended, and no part of a running one', async () => {
    await addUpgrade('over for long', [401, 450], 3000)
    await addUpgrade('without sites', [])
    await addUpgrade('over lately at one site', [399, 450])
    await addUpgrade('going on at one site', [null, 450])
    await prune()
    expect(await texts('org_upgrade', 'target_version')).toEqual(['going on at one site', 'over lately at one site'])
    expect(await count('site_upgrade')).toBe(4)
    expect(await count('upgrade_target')).toBe(8)
  })

  it('reports deleted records to organizations once a day', async () => {
    await addRecord(400)
    await addEvents(100)
    await prune()
    await addRecord(400)
    await prune()
    const select = context.ctx.db.selectFrom('systemEvent').select(['orgId', 'type', 'text']).orderBy('text')
    const told = await select.execute()
    expect(told).toEqual([
      { orgId: orgId(), type: 'RECORDS_DELETED', text: expect.stringMatching(/^Audit records from before \d{4}-/) },
      { orgId: orgId(), type: 'RECORDS_DELETED', text: expect.stringMatching(/^Events of devices from before /) },
    ])
  })

  it('logs how many rows of which tables it deleted, and nothing if it deleted none', async () => {
    const lines: string[] = []
    const log = pino(
      { base: null, timestamp: false },
      new Writable({
        write(chunk, _encoding, done) {
          lines.push(String(chunk))
          done()
        },
      }),
    )
    await addRecord(366)
    await addEvents(91, 3)
    const [task] = retentionTasks({ ...context.ctx, log }, retention)
    const { signal } = new AbortController()
    await task?.run(null, signal)
    await task?.run(null, signal)
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        rows: 4,
        deleted: expect.objectContaining({ audit_log: 1, device_event_row: 3 }),
        msg: 'Deleted records that are older than their retention',
      }),
    ])
  })

  it('stops between two batches', async () => {
    await addEvents(91, 10)
    await deletePastRetention(context.ctx, retention, AbortSignal.abort())
    expect(await count('device_event')).toBe(10)
  })

  it('finds old rows through an index', async () => {
    await addEvents(1, 20_000)
    await addEvents(91, 10)
    await sql`analyze device_event_row`.execute(context.ctx.db)
    const { rows } = await sql<{ 'QUERY PLAN': string }>`explain select ctid from device_event_row
      where org = ${eventPlace(orgId(), null).org} and ${agingDeviceEvents.isOld(daysAgo(90))} limit 2000 for update skip locked`.execute(
      context.ctx.db,
    )
    expect(JSON.stringify(rows)).toContain('device_event_by_hour')
  })
})
