import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { defaultMxedgeUpgradeOptions } from '../../../../src/mxedges/upgrades/options.ts'
import { advanceMxedgeUpgrades } from '../../../../src/mxedges/upgrades/worker.ts'
import { json } from '../../../../src/platform/database/db.ts'
import { find, pathOf, running, targetsOf, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { later, useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const given = useMxedgeUpgrades()

const put = (id: string, body: object) => given.world.call('PUT', `${pathOf(given.world)}/${id}`, { body })

describe('a retry', () => {
  test('continues an upgrade that has ended with its failed appliances, and says how they had failed', async () => {
    const { id } = await upgrade(given.world, given.tunterm())
    await given.play(given.boxes.slice(0, 2))
    expect(await find(given.world, id)).toMatchObject({ status: 'completed', counts: { success: 1, failed: 2 } })
    const { status, body } = await given.act(id, 'retry')
    expect([status, body]).toEqual([200, { retried: 2, skipped: [] }])
    expect(await find(given.world, id)).toMatchObject({
      status: 'upgrading',
      counts: { success: 1, queued: 2, failed: 0 },
    })
    await given.play(given.boxes.slice(0, 1))
    expect(await given.idsBy(id, 'failed')).toEqual([given.boxes[0]])
    await given.act(id, 'retry', { mxedge_ids: [given.boxes[0]] })
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ status: 'completed', counts: { success: 3, failed: 0 } })
    const target = (await targetsOf(given.world, id)).find(({ mxedge_id }) => mxedge_id === given.boxes[0])
    const run = { reason: 'The disk is full', retried_at: expect.any(Number), retried_by: expect.any(String) }
    expect(target).toMatchObject({ status: 'success', attempts: 3, runs: [run, run] })
    expect(await given.messagesOf(id)).toContain(`Retry 1 failed edge appliance of upgrade ${id}`)
  })

  test('ends a pause at a gate, whose phase then ends anew, and keeps a pause of a person', async () => {
    const canary = { strategy: 'canary', canary_phases: [1, 100], max_failure_percentage: 60 }
    const { id } = await upgrade(given.world, given.tunterm(canary))
    const [first] = await given.idsBy(id, 'queued')
    await given.play([first])
    expect(await find(given.world, id)).toMatchObject({
      phase: 1,
      held: { by: 'gate' },
      counts: { failed: 1, queued: 2 },
    })
    await given.act(id, 'retry')
    expect(await find(given.world, id)).not.toHaveProperty('held')
    await given.act(id, 'pause')
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ phase: 1, counts: { queued: 3 }, held: { by: 'user' } })
    await given.act(id, 'resume')
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ status: 'completed', phase: 2, counts: { success: 3 } })
  })

  test('has no times of a phase of which a first command was deleted', async () => {
    const { id } = await upgrade(given.world, given.tunterm({ strategy: 'canary', canary_phases: [1, 100] }))
    const targets = await targetsOf(given.world, id)
    const failing = targets.at(-1)?.mxedge_id
    await given.play([failing])
    const timesOf = async () => (await find(given.world, id)).phase_times.map(({ phase }: AnyJson) => phase)
    expect(await timesOf()).toEqual([1, 2])
    const commands = given.world.ctx.db.deleteFrom('mxedgeCommand').where('upgradeId', '=', id)
    await commands.where('mxedgeId', '=', failing).execute()
    expect(await timesOf()).toEqual([1])
    await given.act(id, 'retry')
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ status: 'completed', counts: { success: 3 } })
    expect(await timesOf()).toEqual([1])
  })

  test('of an upgrade that a limit stopped ends as failed, for those that it had cancelled', async () => {
    const { id } = await upgrade(given.world, given.tunterm({ strategy: 'serial', max_failure_percentage: 0 }))
    const [first] = await given.idsBy(id, 'queued')
    await given.play([first])
    const stopped = { status: 'failed', counts: { failed: 1, cancelled: 2 }, stop_reason: expect.any(String) }
    expect(await find(given.world, id)).toMatchObject(stopped)
    expect((await given.act(id, 'retry')).body).toEqual({ retried: 1, skipped: [] })
    expect(await find(given.world, id)).not.toHaveProperty('stop_reason')
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ ...stopped, counts: { success: 1, cancelled: 2 } })
  })

  test('is refused where the failures that remain would stop the upgrade at once', async () => {
    const limits = { strategy: 'canary', canary_phases: [99], max_failures: [0, 0] }
    const { id } = await upgrade(given.world, given.tunterm(limits))
    await given.play(given.boxes)
    expect(await find(given.world, id)).toMatchObject({ status: 'failed', counts: { failed: 3 } })
    const before = await find(given.world, id)
    const refused = await given.act(id, 'retry', { mxedge_ids: given.boxes.slice(0, 1) })
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      expect.stringContaining('The upgrade would stop again at once: '),
    ])
    expect(await find(given.world, id)).toEqual(before)
  })

  test('names what can not be retried, and why', async () => {
    const { id } = await upgrade(given.world, given.tunterm())
    await given.play(given.boxes)
    const unknown = randomUUID()
    for (const [ids, reason] of [
      [[unknown], `${unknown} is not an edge appliance of this upgrade`],
      [[], ''],
      [['x'], ''],
    ] as const) {
      const refused = await given.act(id, 'retry', { mxedge_ids: ids })
      expect([refused.status, refused.body.detail]).toEqual([400, expect.stringContaining(`Invalid field mxedge_ids`)])
      expect(refused.body.detail).toContain(reason)
    }
    const [removed, replaced, busy] = given.boxes
    await given.world.call('DELETE', `/orgs/${given.world.org.orgId}/mxedges/${removed}`)
    await given.world.ctx.db
      .updateTable('mxedge')
      .set({ registrationEpoch: 7 })
      .where('id', '=', replaced ?? '')
      .execute()
    const other = await upgrade(given.world, given.tunterm({ mxedge_ids: [busy] }))
    const { body } = await given.act(id, 'retry')
    expect(body).toEqual({
      retried: 0,
      skipped: expect.arrayContaining([
        { reason: 'removed, or moved to another site', total: 1, mxedge_ids: [removed] },
        { reason: 'replaced by another appliance', total: 1, mxedge_ids: [replaced] },
        { reason: expect.stringMatching(/^in upgrade /), total: 1, mxedge_ids: [busy] },
      ]),
    })
    expect((await given.act(other.id, 'retry', { mxedge_ids: [busy] })).body.detail).toContain('has not failed')
    await given.act(other.id, 'cancel')
    await given.play()
    expect((await given.act(other.id, 'retry')).body).toEqual({ retried: 0, skipped: [] })
  })
})

describe('an exclusion', () => {
  const exclude = (id: string, ids: readonly (string | undefined)[], more = {}) =>
    given.act(id, 'exclude', { mxedge_ids: ids, ...more })

  test('leaves the upgrade to the other appliances, names who excluded the one and why, and frees it', async () => {
    const { id } = await upgrade(given.world, given.tunterm({ start_time: later() }))
    const [first] = given.boxes
    const { status, body } = await exclude(id, [first?.toUpperCase()], { note: 'the rack moves' })
    expect([status, body]).toEqual([200, { excluded: 1, skipped: [] }])
    expect(await find(given.world, id)).toMatchObject({ status: 'queued', counts: { queued: 2, cancelled: 1 } })
    const target = (await targetsOf(given.world, id)).find(({ mxedge_id }) => mxedge_id === first)
    const reason = expect.stringMatching(/^excluded by .+: the rack moves$/)
    expect(target).toMatchObject({ status: 'cancelled', reason })
    expect(await given.messagesOf(id)).toContain(`Exclude 1 edge appliance from upgrade ${id}`)
    const other = await upgrade(given.world, given.tunterm())
    expect(await given.idsBy(other.id, 'queued')).toEqual([first])
    const again = [{ reason: 'has ended in this upgrade', total: 1, mxedge_ids: [first] }]
    expect((await exclude(id, [first])).body).toEqual({ excluded: 0, skipped: again })
  })

  test('of the only appliance of a phase lets the next one open; of all of them ends the upgrade as cancelled', async () => {
    const canary = { strategy: 'canary', canary_phases: [1, 100] }
    const { id } = await upgrade(given.world, given.tunterm(canary))
    const [first, ...others] = (await targetsOf(given.world, id)).map(({ mxedge_id }) => mxedge_id)
    await exclude(id, [first])
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ status: 'completed', counts: { success: 2, cancelled: 1 } })
    const { body } = await exclude(id, others)
    expect(body).toEqual({ excluded: 0, skipped: [expect.objectContaining({ total: 2 })] })
    const idle = await upgrade(given.world, given.tunterm({ versions: { tunterm: '3.0.0' }, start_time: later() }))
    await exclude(idle.id, given.boxes)
    expect(await find(given.world, idle.id)).toMatchObject({
      status: 'cancelled',
      counts: { cancelled: 3 },
      stop_reason: expect.stringMatching(/^3 edge appliances were excluded by /),
    })
  })

  test('withdraws a command that has not left, and names an appliance that installs', async () => {
    const { id } = await upgrade(given.world, given.tunterm())
    await advanceMxedgeUpgrades(given.world.ctx, given.world.org.orgId, defaultMxedgeUpgradeOptions)
    const [first, second] = given.boxes
    const { db } = given.world.ctx
    const commandsOf = (state: 'queued' | 'cancelled') =>
      db.selectFrom('mxedgeCommand').select('mxedgeId').where('upgradeId', '=', id).where('state', '=', state).execute()
    expect(await commandsOf('queued')).toHaveLength(3)
    const sent = { state: 'sent', sentAt: new Date() } as const
    await db
      .updateTable('mxedgeCommand')
      .set(sent)
      .where('mxedgeId', '=', second ?? '')
      .execute()
    await db.updateTable('mxedgeUpgradeTarget').set({ state: 'commanded' }).where('upgradeId', '=', id).execute()
    const counts = sql`jsonb_set(jsonb_set(counts, '{downloading}', '0'), '{commanded}', '3')`
    await sql`update mxedge_upgrade set counts = ${counts} where id = ${id}`.execute(db)
    const skipped = [{ reason: 'is installing', total: 1, mxedge_ids: [second] }]
    expect((await exclude(id, [first, second])).body).toEqual({ excluded: 1, skipped })
    expect(await commandsOf('cancelled')).toEqual([{ mxedgeId: first }])
  })

  test('of an appliance that the upgrade does not have is refused, and changes nothing', async () => {
    const { id } = await upgrade(given.world, given.tunterm({ start_time: later() }))
    const unknown = randomUUID()
    expect(await exclude(id, [given.boxes[0], unknown])).toMatchObject({
      status: 400,
      body: { detail: `Invalid field mxedge_ids.1: ${unknown} is not an edge appliance of this upgrade` },
    })
    expect(await find(given.world, id)).toMatchObject({ counts: { queued: 3 } })
  })
})

describe('supersede', () => {
  test('takes over appliances with which other upgrades have not begun', async () => {
    const old = await upgrade(given.world, given.tunterm({ strategy: 'serial', name: 'Friday' }))
    const [first] = await given.idsBy(old.id, 'queued')
    await advanceMxedgeUpgrades(given.world.ctx, given.world.org.orgId, defaultMxedgeUpgradeOptions)
    const body = given.tunterm({ versions: { tunterm: '3.0.0' } })
    expect(await upgrade(given.world, { ...body, start_time: later() })).toMatchObject({ counts: { skipped: 3 } })
    const fresh = await upgrade(given.world, { ...body, name: 'Saturday', supersede: true })
    expect(fresh).toMatchObject({ supersede: true, counts: { queued: 2, skipped: 1 } })
    expect(fresh.notes).toContainEqual({ reason: `2 edge appliances are taken over from upgrade "Friday" (${old.id})` })
    const reason = `taken over by upgrade "Saturday" (${fresh.id})`
    expect(await targetsOf(given.world, old.id)).toMatchObject([
      { mxedge_id: first },
      { status: 'cancelled', reason },
      { status: 'cancelled', reason },
    ])
    expect(await given.messagesOf(fresh.id)).toContain(
      `Upgrade "Saturday" (${fresh.id}) takes 2 edge appliances over from upgrade "Friday" (${old.id})`,
    )
    await given.play()
    expect(await find(given.world, old.id)).toMatchObject({
      status: 'completed',
      counts: { success: 1, cancelled: 2 },
      notes: [{ reason: `2 edge appliances were ${reason}` }],
    })
    expect(await find(given.world, fresh.id)).toMatchObject({ status: 'completed', counts: { success: 2 } })
  })

  test('leaves it to the others whether a cancellation came too late for them', async () => {
    const { db } = given.world.ctx
    const old = await upgrade(given.world, given.tunterm({ strategy: 'serial' }))
    const [first = ''] = await given.idsBy(old.id, 'queued')
    await advanceMxedgeUpgrades(given.world.ctx, given.world.org.orgId, defaultMxedgeUpgradeOptions)
    const fresh = await upgrade(given.world, given.tunterm({ start_time: later(), supersede: true }))
    await db.updateTable('mxedgeCommand').set({ state: 'sent' }).where('upgradeId', '=', old.id).execute()
    expect((await given.act(old.id, 'cancel')).status).toBe(200)
    await db.updateTable('mxedgeCommand').set({ state: 'done' }).where('upgradeId', '=', old.id).execute()
    const report = json(running('2.0.0'))
    await db.updateTable('mxedgeSession').set({ report }).where('mxedgeId', '=', first).execute()
    await given.play()
    const ended = await find(given.world, old.id)
    expect(ended).toMatchObject({ status: 'completed', counts: { success: 1, cancelled: 2 } })
    expect(ended).not.toHaveProperty('stop_reason')
    await given.act(fresh.id, 'cancel')
    await given.play()
  })

  test('lets a retry complete an upgrade that a limit stopped without cancelling anything', async () => {
    const old = await upgrade(given.world, given.tunterm({ strategy: 'serial', max_failure_percentage: 0 }))
    const [first] = await given.idsBy(old.id, 'queued')
    await advanceMxedgeUpgrades(given.world.ctx, given.world.org.orgId, defaultMxedgeUpgradeOptions)
    const fresh = await upgrade(given.world, given.tunterm({ start_time: later(), supersede: true }))
    await given.play([first])
    expect(await find(given.world, old.id)).toMatchObject({ status: 'failed', counts: { failed: 1, cancelled: 2 } })
    await given.act(old.id, 'retry')
    await given.play()
    expect(await find(given.world, old.id)).toMatchObject({ status: 'completed', counts: { success: 1, cancelled: 2 } })
    await given.act(fresh.id, 'cancel')
    await given.play()
  })

  test('ends an upgrade that has lost all of them', async () => {
    const old = await upgrade(given.world, given.tunterm({ start_time: later() }))
    const fresh = await upgrade(given.world, given.tunterm({ start_time: later(), supersede: true }))
    expect(await find(given.world, old.id)).toMatchObject({
      status: 'cancelled',
      counts: { queued: 0, cancelled: 3 },
      stop_reason: `3 edge appliances were taken over by upgrade ${fresh.id}`,
      finished_time: expect.any(Number),
    })
    expect((await given.act(old.id, 'resume')).status).toBe(200)
    await given.act(fresh.id, 'cancel')
    await given.play()
  })

  test('takes appliances out of an upgrade that leads away from the version that they run', async () => {
    await upgrade(given.world, given.tunterm())
    await given.play()
    const old = await upgrade(given.world, given.tunterm({ versions: { tunterm: '3.0.0' }, start_time: later() }))
    const fresh = await upgrade(given.world, given.tunterm({ supersede: true }))
    expect(fresh).toMatchObject({ counts: { queued: 0, skipped: 3 } })
    expect(fresh.notes).toContainEqual({ reason: `3 edge appliances are taken over from upgrade ${old.id}` })
    expect(fresh.notes).toContainEqual({ mxedge_id: given.boxes[0], reason: 'skipped: tunterm runs 2.0.0 already' })
    expect(await find(given.world, old.id)).toMatchObject({ status: 'cancelled', counts: { cancelled: 3 } })
    const same = await upgrade(given.world, given.tunterm({ versions: { tunterm: '3.0.0' } }))
    expect(same).toMatchObject({ counts: { queued: 3 } })
    await given.play()
    expect(await find(given.world, same.id)).toMatchObject({ status: 'completed', counts: { success: 3 } })
  })

  test('also works for a change of a queued upgrade', async () => {
    const old = await upgrade(given.world, given.tunterm({ mxedge_ids: given.boxes.slice(0, 1), start_time: later() }))
    const fresh = await upgrade(given.world, given.tunterm({ mxedge_ids: given.boxes.slice(1), start_time: later() }))
    const change = { mxedge_ids: given.boxes, supersede: true }
    const { body } = await put(fresh.id, change)
    expect(body).toMatchObject({ counts: { queued: 3 } })
    expect(await find(given.world, old.id)).toMatchObject({ status: 'cancelled' })
  })
})

describe('every change', () => {
  test('has an audit record, and the request an event of each appliance', async () => {
    const { id } = await upgrade(given.world, given.tunterm({ mxedge_ids: given.boxes.slice(0, 1) }))
    for (const verb of ['pause', 'pause', 'resume', 'resume', 'cancel', 'cancel'])
      expect(await given.act(id, verb)).toMatchObject({ status: 200, body: {} })
    const { body } = await given.world.call('GET', `/orgs/${given.world.org.orgId}/logs?limit=4`)
    const types = ['UPGRADE_CANCELLED', 'UPGRADE_RESUMED', 'UPGRADE_PAUSED', 'UPGRADE_CREATED']
    expect(body.results).toMatchObject(types.map((type) => ({ after: { id, type } })))
    expect(body.results.map(({ message }: { readonly message: string }) => message)).toEqual([
      `Cancel upgrade ${id} of edge appliances`,
      `Resume upgrade ${id} of edge appliances`,
      `Pause upgrade ${id} of edge appliances`,
      'Upgrade 1 edge appliance',
    ])
    const path = `/orgs/${given.world.org.orgId}/mxedges/events/search?mxedge_id=${given.boxes[0]}&limit=1`
    expect((await given.world.call('GET', path)).body.results).toMatchObject([
      {
        type: 'ME_PACKAGE_UPDATE_BY_USER',
        package: 'tunterm',
        from_version: '1.0.0',
        to_version: '2.0.0',
        audit_id: body.results[3].id,
      },
    ])
  })

  test('of an unknown upgrade is a 404', async () => {
    for (const verb of ['pause', 'resume', 'cancel']) expect((await given.act(randomUUID(), verb)).status).toBe(404)
    expect((await put(randomUUID(), {})).status).toBe(404)
  })
})
