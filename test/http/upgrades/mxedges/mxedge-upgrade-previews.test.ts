import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { json } from '../../../../src/platform/database/db.ts'
import { pathOf, running, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { later, useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const given = useMxedgeUpgrades()

describe('a preview', () => {
  const preview = async (more: object = {}): Promise<AnyJson> => {
    const { status, body } = await given.post(
      given.tunterm({ strategy: 'canary', canary_phases: [50], dry_run: true, ...more }),
    )
    expect(status).toBe(200)
    return body
  }
  const count = async () => (await given.world.ctx.db.selectFrom('mxedgeUpgrade').select('id').execute()).length

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
    const { body } = await given.post({ plan_id: plan.plan_id })
    expect(body).toMatchObject({ id: plan.plan_id, phase_sizes: [2, 1], counts: { queued: 3 } })
    expect(await given.idsBy(body.id, 'queued')).toEqual(planned)
    const again = await given.post({ plan_id: plan.plan_id })
    expect([again.status, again.body.detail]).toEqual([400, expect.stringContaining('was started already')])
    await given.act(body.id, 'cancel')
    await given.play()
  })

  test('keeps its order, whichever appliances are connected then', async () => {
    const plan = await preview({ start_time: later() })
    await given.world.ctx.db.updateTable('mxedgeSession').set({ connected: false }).execute()
    const { body } = await given.post({ plan_id: plan.plan_id })
    expect(await given.idsBy(body.id, 'queued')).toEqual(
      plan.phases.flatMap(({ mxedges }: AnyJson) => mxedges.map(({ mxedge_id }: AnyJson) => mxedge_id)),
    )
    await given.act(body.id, 'cancel')
    await given.play()
  })

  test('that no longer fits is a 409 that says what has changed', async () => {
    const plan = await preview()
    const [first, second, third] = given.boxes
    const report = json(running('1.5.0'))
    await given.world.ctx.db
      .updateTable('mxedgeSession')
      .set({ report })
      .where('mxedgeId', '=', first ?? '')
      .execute()
    await given.world.ctx.db
      .updateTable('mxedge')
      .set({ registrationEpoch: 9 })
      .where('id', '=', second ?? '')
      .execute()
    const other = await upgrade(given.world, given.tunterm({ mxedge_ids: [third], start_time: later() }))
    const before = await count()
    const { status, body } = await given.post({ plan_id: plan.plan_id })
    expect([status, body.total]).toEqual([409, 3])
    expect(body.differences).toEqual(
      expect.arrayContaining([
        { mxedge_id: first, reason: 'would get tunterm 2.0.0 after 1.5.0, not tunterm 2.0.0 after 1.0.0' },
        { mxedge_id: second, reason: 'is another appliance that has registered in its place' },
        { mxedge_id: third, reason: `would be skipped because it is in upgrade ${other.id}, not upgraded` },
      ]),
    )
    expect(await count()).toBe(before)
    await given.act(other.id, 'cancel')
    await given.play()
  })

  test('is of one operation, and its request does not change', async () => {
    const plan = await preview()
    const differing = await given.post({ plan_id: plan.plan_id, strategy: 'serial' })
    expect(differing.body.detail).toContain('Invalid field strategy: differs from the request of the plan')
    const site = { name: 'Site', timezone: 'UTC' }
    const { id } = (await given.world.call('POST', `/orgs/${given.world.org.orgId}/sites`, { body: site })).body
    const elsewhere = await given.world.call('POST', `/sites/${id}/mxedges/upgrade`, {
      body: { plan_id: plan.plan_id },
    })
    expect(elsewhere.body.detail).toContain('is the plan of another operation, site or device')
    const unknown = await given.post({ plan_id: randomUUID() })
    expect(unknown.body.detail).toContain('Invalid field plan_id: names no plan')
    expect(
      (await given.world.call('PUT', `${pathOf(given.world)}/${randomUUID()}`, { body: { dry_run: true } })).status,
    ).toBe(400)
  })
})
