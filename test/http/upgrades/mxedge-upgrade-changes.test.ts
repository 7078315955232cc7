import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { defaultMxedgeUpgradeOptions } from '../../../src/mxedges/upgrades/options.ts'
import { advanceMxedgeUpgrades } from '../../../src/mxedges/upgrades/worker.ts'
import { json } from '../../../src/platform/database/db.ts'
import { uploadPackage } from '../../edge/packages.ts'
import { addBox, find, pathOf, playUpgrades, running, targetsOf, upgrade } from '../../edge/upgrade-world.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'

let world: TestServer
/** Appliances with tunterm 1.0.0. */
let boxes: string[]
beforeAll(async () => {
  world = await startTestServer()
  await sweepFirmwareFiles(world.ctx, { dir: join(world.dataDir, 'firmware') })
  for (const version of ['2.0.0', '3.0.0']) await uploadPackage(world, version, { query: 'package=tunterm' })
})
afterAll(() => world.close())
beforeEach(async () => {
  boxes = []
  for (let index = 0; index < 3; index += 1) boxes.push(await addBox(world))
})

const tunterm = (more: object = {}) => ({ mxedge_ids: boxes, versions: { tunterm: '2.0.0' }, ...more })
const post = (body: object): Promise<Answer> => world.call('POST', pathOf(world), { body })
const act = (id: string, verb: string, body: object = {}): Promise<Answer> =>
  world.call('POST', `${pathOf(world)}/${id}/${verb}`, { body })
const later = () => Math.floor(Date.now() / 1000) + 3600
const idsBy = async (id: string, status: string): Promise<string[]> =>
  (await targetsOf(world, id)).filter((target) => target.status === status).map(({ mxedge_id }) => mxedge_id)
const messages = async (): Promise<string[]> =>
  (await world.call('GET', `/orgs/${world.org.orgId}/logs?limit=5`)).body.results.map(({ message }: AnyJson) => message)

const play = (refusing: readonly (string | undefined)[] = []): Promise<void> =>
  playUpgrades(world, refusing, world.org.orgId)

describe('a retry', () => {
  test('continues an upgrade that has ended with its failed appliances, and says how they had failed', async () => {
    const { id } = await upgrade(world, tunterm())
    await play(boxes.slice(0, 2))
    expect(await find(world, id)).toMatchObject({ status: 'completed', counts: { success: 1, failed: 2 } })
    const { status, body } = await act(id, 'retry')
    expect([status, body]).toEqual([200, { retried: 2, skipped: [] }])
    expect(await find(world, id)).toMatchObject({ status: 'upgrading', counts: { success: 1, queued: 2, failed: 0 } })
    await play(boxes.slice(0, 1))
    expect(await idsBy(id, 'failed')).toEqual([boxes[0]])
    await act(id, 'retry', { mxedge_ids: [boxes[0]] })
    await play()
    expect(await find(world, id)).toMatchObject({ status: 'completed', counts: { success: 3, failed: 0 } })
    const target = (await targetsOf(world, id)).find(({ mxedge_id }) => mxedge_id === boxes[0])
    const run = { reason: 'The disk is full', retried_at: expect.any(Number), retried_by: expect.any(String) }
    expect(target).toMatchObject({ status: 'success', attempts: 3, runs: [run, run] })
    expect(await messages()).toContain(`Retry 1 failed edge appliance of upgrade ${id}`)
  })

  test('ends a pause at a gate, whose phase then ends anew, and keeps a pause of a person', async () => {
    const canary = { strategy: 'canary', canary_phases: [1, 100], max_failure_percentage: 60 }
    const { id } = await upgrade(world, tunterm(canary))
    const [first] = await idsBy(id, 'queued')
    await play([first])
    expect(await find(world, id)).toMatchObject({ phase: 1, held: { by: 'gate' }, counts: { failed: 1, queued: 2 } })
    await act(id, 'retry')
    expect(await find(world, id)).not.toHaveProperty('held')
    await act(id, 'pause')
    await play()
    expect(await find(world, id)).toMatchObject({ phase: 1, counts: { queued: 3 }, held: { by: 'user' } })
    await act(id, 'resume')
    await play()
    expect(await find(world, id)).toMatchObject({ status: 'completed', phase: 2, counts: { success: 3 } })
  })

  test('has no times of a phase of which a first command was deleted', async () => {
    const { id } = await upgrade(world, tunterm({ strategy: 'canary', canary_phases: [1, 100] }))
    const targets = await targetsOf(world, id)
    const failing = targets.at(-1)?.mxedge_id
    await play([failing])
    const timesOf = async () => (await find(world, id)).phase_times.map(({ phase }: AnyJson) => phase)
    expect(await timesOf()).toEqual([1, 2])
    const commands = world.ctx.db.deleteFrom('mxedgeCommand').where('upgradeId', '=', id)
    await commands.where('mxedgeId', '=', failing).execute()
    expect(await timesOf()).toEqual([1])
    await act(id, 'retry')
    await play()
    expect(await find(world, id)).toMatchObject({ status: 'completed', counts: { success: 3 } })
    expect(await timesOf()).toEqual([1])
  })

  test('of an upgrade that a limit stopped ends as failed, for those that it had cancelled', async () => {
    const { id } = await upgrade(world, tunterm({ strategy: 'serial', max_failure_percentage: 0 }))
    const [first] = await idsBy(id, 'queued')
    await play([first])
    expect(await find(world, id)).toMatchObject({ status: 'failed', counts: { failed: 1, cancelled: 2 } })
    expect((await act(id, 'retry')).body).toEqual({ retried: 1, skipped: [] })
    await play()
    expect(await find(world, id)).toMatchObject({ status: 'failed', counts: { success: 1, cancelled: 2 } })
  })

  test('is refused where the failures that remain would stop the upgrade at once', async () => {
    const limits = { strategy: 'canary', canary_phases: [99], max_failures: [0, 0] }
    const { id } = await upgrade(world, tunterm(limits))
    await play(boxes)
    expect(await find(world, id)).toMatchObject({ status: 'failed', counts: { failed: 3 } })
    const before = await find(world, id)
    const refused = await act(id, 'retry', { mxedge_ids: boxes.slice(0, 1) })
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      expect.stringContaining('The upgrade would stop again at once: '),
    ])
    expect(await find(world, id)).toEqual(before)
  })

  test('names what can not be retried, and why', async () => {
    const { id } = await upgrade(world, tunterm())
    await play(boxes)
    const unknown = randomUUID()
    for (const [ids, reason] of [
      [[unknown], `${unknown} is not an edge appliance of this upgrade`],
      [[], ''],
      [['x'], ''],
    ] as const) {
      const refused = await act(id, 'retry', { mxedge_ids: ids })
      expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining(`Invalid field mxedge_ids`)])
      expect(refused.body.detail).toContain(reason)
    }
    const [removed, replaced, busy] = boxes
    await world.call('DELETE', `/orgs/${world.org.orgId}/mxedges/${removed}`)
    await world.ctx.db
      .updateTable('mxedge')
      .set({ registrationEpoch: 7 })
      .where('id', '=', replaced ?? '')
      .execute()
    const other = await upgrade(world, tunterm({ mxedge_ids: [busy] }))
    const { body } = await act(id, 'retry')
    expect(body).toEqual({
      retried: 0,
      skipped: expect.arrayContaining([
        { reason: 'removed, or moved to another site', total: 1, mxedge_ids: [removed] },
        { reason: 'replaced by another appliance', total: 1, mxedge_ids: [replaced] },
        { reason: 'in another upgrade', total: 1, mxedge_ids: [busy] },
      ]),
    })
    expect((await act(other.id, 'retry', { mxedge_ids: [busy] })).body.detail).toContain('has not failed')
    await act(other.id, 'cancel')
    await play()
    expect((await act(other.id, 'retry')).body).toEqual({ retried: 0, skipped: [] })
  })
})

describe('supersede', () => {
  test('takes over appliances with which other upgrades have not begun', async () => {
    const old = await upgrade(world, tunterm({ strategy: 'serial' }))
    const [first] = await idsBy(old.id, 'queued')
    await advanceMxedgeUpgrades(world.ctx, world.org.orgId, defaultMxedgeUpgradeOptions)
    const body = tunterm({ versions: { tunterm: '3.0.0' } })
    expect(await upgrade(world, { ...body, start_time: later() })).toMatchObject({ counts: { skipped: 3 } })
    const fresh = await upgrade(world, { ...body, supersede: true })
    expect(fresh).toMatchObject({ supersede: true, counts: { queued: 2, skipped: 1 } })
    expect(fresh.notes).toContainEqual({ reason: `2 edge appliances are taken over from upgrade ${old.id}` })
    const reason = `taken over by upgrade ${fresh.id}`
    expect(await targetsOf(world, old.id)).toMatchObject([
      { mxedge_id: first },
      { status: 'cancelled', reason },
      { status: 'cancelled', reason },
    ])
    expect(await messages()).toContain(`Upgrade ${fresh.id} takes 2 edge appliances over from upgrade ${old.id}`)
    await play()
    expect(await find(world, old.id)).toMatchObject({
      status: 'completed',
      counts: { success: 1, cancelled: 2 },
      notes: [{ reason: `2 edge appliances were ${reason}` }],
    })
    expect(await find(world, fresh.id)).toMatchObject({ status: 'completed', counts: { success: 2 } })
  })

  test('leaves it to the others whether a cancellation came too late for them', async () => {
    const { db } = world.ctx
    const old = await upgrade(world, tunterm({ strategy: 'serial' }))
    const [first = ''] = await idsBy(old.id, 'queued')
    await advanceMxedgeUpgrades(world.ctx, world.org.orgId, defaultMxedgeUpgradeOptions)
    const fresh = await upgrade(world, tunterm({ start_time: later(), supersede: true }))
    await db.updateTable('mxedgeCommand').set({ state: 'sent' }).where('upgradeId', '=', old.id).execute()
    expect((await act(old.id, 'cancel')).status).toBe(200)
    await db.updateTable('mxedgeCommand').set({ state: 'done' }).where('upgradeId', '=', old.id).execute()
    const report = json(running('2.0.0'))
    await db.updateTable('mxedgeSession').set({ report }).where('mxedgeId', '=', first).execute()
    await play()
    const ended = await find(world, old.id)
    expect(ended).toMatchObject({ status: 'completed', counts: { success: 1, cancelled: 2 } })
    expect(ended).not.toHaveProperty('stop_reason')
    await act(fresh.id, 'cancel')
    await play()
  })

  test('lets a retry complete an upgrade that a limit stopped without cancelling anything', async () => {
    const old = await upgrade(world, tunterm({ strategy: 'serial', max_failure_percentage: 0 }))
    const [first] = await idsBy(old.id, 'queued')
    await advanceMxedgeUpgrades(world.ctx, world.org.orgId, defaultMxedgeUpgradeOptions)
    const fresh = await upgrade(world, tunterm({ start_time: later(), supersede: true }))
    await play([first])
    expect(await find(world, old.id)).toMatchObject({ status: 'failed', counts: { failed: 1, cancelled: 2 } })
    await act(old.id, 'retry')
    await play()
    expect(await find(world, old.id)).toMatchObject({ status: 'completed', counts: { success: 1, cancelled: 2 } })
    await act(fresh.id, 'cancel')
    await play()
  })

  test('ends an upgrade that has lost all of them', async () => {
    const old = await upgrade(world, tunterm({ start_time: later() }))
    const fresh = await upgrade(world, tunterm({ start_time: later(), supersede: true }))
    expect(await find(world, old.id)).toMatchObject({
      status: 'cancelled',
      counts: { queued: 0, cancelled: 3 },
      stop_reason: `3 edge appliances were taken over by upgrade ${fresh.id}`,
      finished_time: expect.any(Number),
    })
    expect((await act(old.id, 'resume')).status).toBe(200)
    await act(fresh.id, 'cancel')
    await play()
  })

  test('takes appliances out of an upgrade that leads away from the version that they run', async () => {
    await upgrade(world, tunterm())
    await play()
    const old = await upgrade(world, tunterm({ versions: { tunterm: '3.0.0' }, start_time: later() }))
    const fresh = await upgrade(world, tunterm({ supersede: true }))
    expect(fresh).toMatchObject({ counts: { queued: 0, skipped: 3 } })
    expect(fresh.notes).toContainEqual({ reason: `3 edge appliances are taken over from upgrade ${old.id}` })
    expect(fresh.notes).toContainEqual({ mxedge_id: boxes[0], reason: 'skipped: tunterm runs 2.0.0 already' })
    expect(await find(world, old.id)).toMatchObject({ status: 'cancelled', counts: { cancelled: 3 } })
    const same = await upgrade(world, tunterm({ versions: { tunterm: '3.0.0' } }))
    expect(same).toMatchObject({ counts: { queued: 3 } })
    await play()
    expect(await find(world, same.id)).toMatchObject({ status: 'completed', counts: { success: 3 } })
  })

  test('also works for a change of a queued upgrade', async () => {
    const old = await upgrade(world, tunterm({ mxedge_ids: boxes.slice(0, 1), start_time: later() }))
    const fresh = await upgrade(world, tunterm({ mxedge_ids: boxes.slice(1), start_time: later() }))
    const change = { mxedge_ids: boxes, supersede: true }
    const { body } = await world.call('PUT', `${pathOf(world)}/${fresh.id}`, { body: change })
    expect(body).toMatchObject({ counts: { queued: 3 } })
    expect(await find(world, old.id)).toMatchObject({ status: 'cancelled' })
  })
})

describe('a preview', () => {
  const preview = async (more: object = {}): Promise<AnyJson> => {
    const { status, body } = await post(tunterm({ strategy: 'canary', canary_phases: [50], dry_run: true, ...more }))
    expect(status).toBe(200)
    return body
  }
  const count = async () => (await world.ctx.db.selectFrom('mxedgeUpgrade').select('id').execute()).length

  test('shows the plan, starts nothing, and is carried out by its id', async () => {
    const before = await count()
    const plan = await preview()
    const step = { service: 'tunterm', from_version: '1.0.0', to_version: '2.0.0', done: false }
    expect(plan).toEqual({
      plan_id: expect.any(String),
      expires_at: expect.any(Number),
      start_time: expect.any(Number),
      total: 3,
      phases: [
        { percent: 50, total: 2, begins_about: plan.start_time, mxedges: expect.any(Array) },
        {
          percent: 100,
          total: 1,
          begins_about: plan.start_time + 120,
          mxedges: [{ mxedge_id: expect.any(String), steps: [step] }],
        },
      ],
      skipped: [],
      stops_after_failures: 1,
      ends_about: plan.start_time + 240,
      notes: [],
    })
    expect(await count()).toBe(before)
    const planned = plan.phases.flatMap(({ mxedges }: AnyJson) => mxedges.map(({ mxedge_id }: AnyJson) => mxedge_id))
    const { body } = await post({ plan_id: plan.plan_id })
    expect(body).toMatchObject({ id: plan.plan_id, phase_sizes: [2, 1], counts: { queued: 3 } })
    expect(await idsBy(body.id, 'queued')).toEqual(planned)
    const again = await post({ plan_id: plan.plan_id })
    expect([again.status, again.body.detail]).toEqual([400, expect.stringContaining('was started already')])
    await act(body.id, 'cancel')
    await play()
  })

  test('keeps its order, whichever appliances are connected then', async () => {
    const plan = await preview({ start_time: later() })
    await world.ctx.db.updateTable('mxedgeSession').set({ connected: false }).execute()
    const { body } = await post({ plan_id: plan.plan_id })
    expect(await idsBy(body.id, 'queued')).toEqual(
      plan.phases.flatMap(({ mxedges }: AnyJson) => mxedges.map(({ mxedge_id }: AnyJson) => mxedge_id)),
    )
    await act(body.id, 'cancel')
    await play()
  })

  test('that no longer fits is a 409 that says what has changed', async () => {
    const plan = await preview()
    const [first, second, third] = boxes
    const report = json(running('1.5.0'))
    await world.ctx.db
      .updateTable('mxedgeSession')
      .set({ report })
      .where('mxedgeId', '=', first ?? '')
      .execute()
    await world.ctx.db
      .updateTable('mxedge')
      .set({ registrationEpoch: 9 })
      .where('id', '=', second ?? '')
      .execute()
    const other = await upgrade(world, tunterm({ mxedge_ids: [third], start_time: later() }))
    const before = await count()
    const { status, body } = await post({ plan_id: plan.plan_id })
    expect([status, body.total]).toEqual([409, 3])
    expect(body.differences).toEqual(
      expect.arrayContaining([
        { mxedge_id: first, reason: 'would get tunterm 2.0.0 after 1.5.0, not tunterm 2.0.0 after 1.0.0' },
        { mxedge_id: second, reason: 'is another appliance that has registered in its place' },
        { mxedge_id: third, reason: `would be skipped because it is in upgrade ${other.id}, not upgraded` },
      ]),
    )
    expect(await count()).toBe(before)
    await act(other.id, 'cancel')
    await play()
  })

  test('is of one operation, and its request does not change', async () => {
    const plan = await preview()
    const differing = await post({ plan_id: plan.plan_id, strategy: 'serial' })
    expect(differing.body.detail).toContain('Invalid field strategy: differs from the request of the plan')
    const site = { name: 'Site', timezone: 'UTC' }
    const { id } = (await world.call('POST', `/orgs/${world.org.orgId}/sites`, { body: site })).body
    const elsewhere = await world.call('POST', `/sites/${id}/mxedges/upgrade`, { body: { plan_id: plan.plan_id } })
    expect(elsewhere.body.detail).toContain('is the plan of another operation, site or device')
    const unknown = await post({ plan_id: randomUUID() })
    expect(unknown.body.detail).toContain('Invalid field plan_id: names no plan')
    expect((await world.call('PUT', `${pathOf(world)}/${randomUUID()}`, { body: { dry_run: true } })).status).toBe(400)
  })
})

describe('maintenance windows', () => {
  /** The time in the given number of hours, on the hour. */
  const hour = (hours: number) => `${String((new Date().getUTCHours() + hours) % 24).padStart(2, '0')}:00`
  const setWindows = (windows: unknown) =>
    world.call('PUT', `/orgs/${world.org.orgId}/setting`, { body: { maintenance_windows: windows } })
  afterEach(() => setWindows([]))

  test('of the request keep appliances waiting until they open, and those of the settings do, too', async () => {
    const windows = [{ start: hour(6), end: hour(9) }]
    const text = `daily ${hour(6)}-${hour(9)} (UTC)`
    const own = await upgrade(world, tunterm({ mxedge_ids: boxes.slice(0, 1), maintenance_windows: windows }))
    expect(own.notes).toEqual([
      { reason: `Edge appliances begin only in the maintenance windows of the request: ${text}` },
    ])
    await setWindows(windows)
    const { id, notes } = await upgrade(world, tunterm({ mxedge_ids: boxes.slice(1, 2) }))
    expect(notes).toEqual([
      { reason: `Edge appliances begin only in the maintenance windows of the settings: ${text}` },
    ])
    await play()
    for (const waiting of [id, own.id]) {
      const record = await find(world, waiting)
      expect(record).toMatchObject({ counts: { queued: 1, upgrading: 0 }, waits_until: expect.any(Number) })
      expect(new Date(record.waits_until * 1000).getUTCHours()).toBe(Number(hour(6).slice(0, 2)))
      await act(waiting, 'cancel')
    }
    const urgent = await upgrade(world, tunterm({ mxedge_ids: boxes.slice(2), maintenance_windows: [] }))
    expect(urgent.notes).toEqual([
      { reason: `The maintenance windows of the settings do not apply: daily ${hour(6)}-${hour(9)}` },
    ])
    await play()
    expect(await find(world, urgent.id)).toMatchObject({ status: 'completed', counts: { success: 1 } })
    expect(await find(world, id)).not.toHaveProperty('waits_until')
  })

  test('on the clocks of its site let an appliance begin, and one that is too short for it leaves it out', async () => {
    const site = { name: 'Tokyo', timezone: 'Asia/Tokyo' }
    const siteId = (await world.call('POST', `/orgs/${world.org.orgId}/sites`, { body: site })).body.id
    const atSite = { mxedge_ids: boxes.slice(0, 1), site_id: siteId }
    await world.call('POST', `/orgs/${world.org.orgId}/mxedges/assign`, { body: atSite })
    const mxedge_ids = boxes.slice(0, 2)
    // In Tokyo it is nine hours later: the window is open there, and nowhere else.
    const open = [{ start: hour(8), end: hour(12) }]
    const { id } = await upgrade(world, tunterm({ mxedge_ids, maintenance_windows: open }))
    await play()
    expect(await idsBy(id, 'success')).toEqual(boxes.slice(0, 1))
    expect(await idsBy(id, 'queued')).toEqual(boxes.slice(1, 2))
    await act(id, 'cancel')
    const short = [{ start: '01:00', end: '01:20' }]
    const { notes } = await upgrade(world, tunterm({ mxedge_ids: boxes.slice(2), maintenance_windows: short }))
    const reason = 'skipped: it may take 20 minutes, and no maintenance window of its site has more than 20'
    expect(notes).toContainEqual({ mxedge_id: boxes[2], reason })
    const endless = await post(tunterm({ maintenance_windows: [{ start: '01:00', end: '01:00' }] }))
    expect([endless.status, endless.body.detail]).toEqual([400, expect.stringContaining('maintenance_windows.0.end')])
    await play()
  })
})
