import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { deleteExpiredPreviews } from '../../../src/upgrades/previews/store.ts'
import { inTx } from '../../../src/platform/database/db.ts'
import { addMs } from '../../../src/platform/time/clock.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { NEW, OLD } from '../../support/fleets/fleet.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'

const harness = createUpgradesHarness()
const { post, macsOf, siteId, targets, rowsLeft } = harness

const canary = { all_sites: true, strategy: 'canary', canary_phases: [20, 60] }
const db = () => harness.server.ctx.db
const orgId = () => harness.admin.orgId
const preview = async (body: object = canary): Promise<AnyJson> => (await post({ ...body, dry_run: true })).body
const macsOfPhase = (phase: AnyJson): string[] => phase.sites.flatMap(({ macs }: { macs: string[] }) => macs)

async function written(): Promise<number> {
  const { rows } = await sql<{ n: number }>`select (select count(*) from audit_log where org_id = ${orgId()}
    and message like 'Upgrade %')::int + (select count(*) from device_event where org_id = ${orgId()}
    and event->>'text' like 'to %')::int as n`.execute(db())
  return rows[0]?.n ?? 0
}

async function expire(id: string): Promise<void> {
  const expiresAt = addMs(harness.server.ctx.clock.now(), -1)
  await db().updateTable('upgradePreview').set({ expiresAt }).where('id', '=', id).execute()
}

describe('a preview', () => {
  it('answers the plan, and starts and records nothing', async () => {
    const before = Date.now() / 1000
    const body = await preview()
    expect(body).toMatchObject({ total: 5, skipped: [], notes: [], stops_after_failures: 1 })
    expect(body.phases.map(({ percent, total }: AnyJson) => [percent, total])).toEqual([
      [20, 1],
      [60, 2],
      [100, 2],
    ])
    expect(body.phases.flatMap(macsOfPhase).toSorted()).toEqual([...macsOf(0), ...macsOf(1)].toSorted())
    expect(body.expires_at - before).toBeGreaterThan(890)
    expect(body.expires_at - before).toBeLessThan(910 + Date.now() / 1000 - before)
    expect(body.ends_about).toBeGreaterThan(before)
    expect([await rowsLeft(), await written()]).toEqual([0, 0])
  })

  it('plans the example of the manual', async () => {
    const manual = readFileSync(new URL('../../../docs/upgrades.md', import.meta.url), 'utf8')
    const [, example = ''] = /```json\n(.*?)```/s.exec(manual) ?? []
    // No version of the fleet's models has the label that the example names.
    const { status, body } = await post({ ...JSON.parse(example), version: NEW, dry_run: true })
    expect({ status, body }).toMatchObject({ status: 200, body: { total: 5, skipped: [] } })
  })

  it('is asked for in the query as well', async () => {
    const { server, path, admin } = harness
    const answer = await server.call('POST', `${path}?dry_run=True`, { body: { all_sites: true }, as: admin })
    expect(answer).toMatchObject({ status: 200, body: { total: 5 } })
    expect(await rowsLeft()).toBe(0)
  })

  it('names the devices that would be left out, and the limits of the phases', async () => {
    const [current = '', busy = ''] = macsOf(0)
    await db().updateTable('deviceStatus').set({ firmware: NEW }).where('deviceId', '=', idOf(current)).execute()
    await harness.server.call('POST', `/sites/${siteId(0)}/devices/${idOf(busy)}/upgrade`, {
      body: { version: NEW },
      as: harness.admin,
    })
    await db().updateTable('device').set({ name: 'Lobby' }).where('id', '=', idOf(current)).execute()
    const body = await preview({ ...canary, max_failures: [0, 1, 2] })
    expect(body.total).toBe(3)
    expect(body.skipped).toEqual([
      { mac: current, name: 'Lobby', reason: `runs ${NEW} already` },
      { mac: busy, reason: expect.stringMatching(/^in upgrade /) },
    ])
    expect(body.stops_after_failures).toBeNull()
    expect(body.phases.map(({ stops_after_failures: limit }: AnyJson) => limit)).toEqual([1, 2, 3])
  })

  it('is refused as its upgrade would be', async () => {
    const detail = expect.stringContaining('Invalid field versions.0: ')
    expect(await post({ ...canary, versions: ['9.9.9'], dry_run: true })).toMatchObject({
      status: 400,
      body: { detail },
    })
    expect(await db().selectFrom('upgradePreview').select('id').where('orgId', '=', orgId()).execute()).toEqual([])
  })

  it('makes room for itself among at most 20 of an organization, and expired ones are deleted', async () => {
    const first = await preview()
    const rest: AnyJson[] = []
    for (let index = 0; index < 20; index += 1) rest.push(await preview())
    const ids = () =>
      db().selectFrom('upgradePreview').select('id').where('orgId', '=', orgId()).orderBy('id').execute()
    expect((await ids()).map(({ id }) => id)).toEqual(rest.map(({ plan_id: id }) => id))
    expect(await post({ plan_id: first.plan_id })).toMatchObject({ status: 400 })
    for (const { plan_id: id } of rest.slice(0, 19)) await expire(id)
    const { ctx } = harness.server
    await inTx(ctx, (tx) => deleteExpiredPreviews(tx, ctx.clock.now()))
    expect((await ids()).map(({ id }) => id)).toEqual([rest[19].plan_id])
  })
})

const idOf = (mac: string): string => `00000000-0000-0000-1000-${mac}`

describe('an upgrade with the id of a plan', () => {
  it('is exactly that plan, though devices have connected or gone since, and has its id', async () => {
    const plan = await preview()
    // A new plan would put the only connected device first: it was in the last phase, whatever the order of the sites.
    const [last = ''] = macsOfPhase(plan.phases.at(-1))
    await sql`update device_status set connected = (device_id = ${idOf(last)}) where org_id = ${orgId()}`.execute(db())
    expect((await preview()).phases).not.toEqual(plan.phases)
    const answer = await post({ plan_id: plan.plan_id })
    expect(answer).toMatchObject({ status: 200, body: { id: plan.plan_id, strategy: 'canary' } })
    const phases = Map.groupBy(await targets(), ({ phase }) => phase)
    expect(
      [1, 2, 3].map((phase) =>
        phases
          .get(phase)
          ?.map(({ mac }) => mac)
          .toSorted(),
      ),
    ).toEqual(plan.phases.map((phase: AnyJson) => macsOfPhase(phase).toSorted()))
    expect(await written()).toBeGreaterThan(0)
  })

  it('is started once', async () => {
    const { plan_id: id } = await preview()
    const answers = await Promise.all([post({ plan_id: id }), post({ plan_id: id })])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400])
    expect((await post({ plan_id: id })).body.detail).toContain('was started already')
  })

  it('is a 409 that lists what has changed, and can be asked for again once it is as before', async () => {
    const { plan_id: id } = await preview()
    const [first = '', second = ''] = macsOf(0)
    const update = (firmware: string) =>
      db().updateTable('deviceStatus').set({ firmware }).where('deviceId', '=', idOf(first)).execute()
    await update('1.5.0')
    await db().updateTable('device').set({ name: 'Lobby' }).where('id', '=', idOf(first)).execute()
    await db().updateTable('device').set({ siteId: null }).where('id', '=', idOf(second)).execute()
    expect(await post({ plan_id: id })).toEqual(
      expect.objectContaining({
        status: 409,
        body: {
          detail: 'The plan no longer fits: 2 facts that it relied on have changed',
          differences: [
            { mac: first, name: 'Lobby', reason: `runs 1.5.0, not ${OLD}` },
            { mac: second, reason: "can't be upgraded any more: it is not selected" },
          ],
          total: 2,
        },
      }),
    )
    expect(await rowsLeft()).toBe(0)
    await update(OLD)
    await db()
      .updateTable('device')
      .set({ siteId: siteId(0) })
      .where('id', '=', idOf(second))
      .execute()
    expect((await post({ plan_id: id })).status).toBe(200)
  })

  it('still fits if nothing is to be done with the devices that have changed', async () => {
    const [busy = '', right = ''] = macsOf(0)
    const run = (mac: string, firmware: string) =>
      db().updateTable('deviceStatus').set({ firmware }).where('deviceId', '=', idOf(mac)).execute()
    const { server, admin } = harness
    const path = `/sites/${siteId(0)}/devices/${idOf(busy)}/upgrade`
    await server.call('POST', path, { body: { version: NEW }, as: admin })
    await run(right, NEW)
    const plan = await preview()
    expect(plan.skipped.map(({ mac }: AnyJson) => mac)).toEqual([right, busy])
    // The other upgrade succeeds, and the device that was right leaves the organization's sites.
    await run(busy, NEW)
    await db().updateTable('deviceUpgrade').set({ upgradeId: null }).where('deviceId', '=', idOf(busy)).execute()
    await db().updateTable('device').set({ siteId: null }).where('id', '=', idOf(right)).execute()
    expect(await post({ plan_id: plan.plan_id })).toMatchObject({ status: 200 })
    const { body } = await harness.get(`/${plan.plan_id}`)
    const berlin = body.upgrades.find(({ site_id: id }: AnyJson) => id === siteId(0))
    expect(berlin.upgrade).toMatchObject({ targets: { total: 2, skipped: [busy] } })
    expect(berlin.upgrade.notes).toEqual([])
  })

  it('is refused with other fields than those of the preview, elsewhere, after its time, and with another preview', async () => {
    const { plan_id: id } = await preview()
    const refused = (field: string) => ({
      status: 400,
      body: { detail: expect.stringContaining(`Invalid field ${field}: `) },
    })
    expect(await post({ plan_id: id, canary_phases: [50] })).toMatchObject(refused('canary_phases'))
    expect(await post({ plan_id: id, force: true })).toMatchObject(refused('force'))
    expect(await post({ plan_id: id, dry_run: true })).toMatchObject(refused('plan_id'))
    const { server, admin } = harness
    const ofSite = await server.call('POST', `/sites/${siteId(0)}/devices/upgrade`, {
      body: { plan_id: id },
      as: admin,
    })
    expect(ofSite).toMatchObject(refused('plan_id'))
    await expire(id)
    expect(await post({ plan_id: id })).toMatchObject(refused('plan_id'))
    expect(await rowsLeft()).toBe(0)
  })
})

describe('a preview of', () => {
  const call = (path: string, body: object) => harness.server.call('POST', path, { body, as: harness.admin })

  it('a site is carried out there', async () => {
    const path = `/sites/${siteId(0)}/devices/upgrade`
    const { body } = await call(path, { strategy: 'serial', dry_run: true })
    expect(body.phases.map(({ total }: AnyJson) => total)).toEqual([1, 1, 1])
    expect(await call(path, { plan_id: body.plan_id })).toMatchObject({ status: 200 })
    expect((await targets()).map(({ mac }) => mac)).toEqual(body.phases.flatMap(macsOfPhase))
  })

  it('a device is carried out for it alone', async () => {
    const [first = '', second = ''] = macsOf(0)
    const path = (mac: string) => `/sites/${siteId(0)}/devices/${idOf(mac)}/upgrade`
    const { body } = await call(path(first), { version: NEW, dry_run: true })
    expect(body).toMatchObject({ total: 1, phases: [{ sites: [{ site_id: siteId(0), macs: [first] }] }] })
    expect(await call(path(second), { version: NEW, plan_id: body.plan_id })).toMatchObject({ status: 400 })
    expect(await call(path(first), { version: NEW, plan_id: body.plan_id })).toMatchObject({ status: 200 })
    expect(
      await call(`/sites/${siteId(0)}/devices/${idOf('0'.repeat(12))}/upgrade`, { version: NEW, dry_run: true }),
    ).toMatchObject({ status: 404 })
  })
})

describe('a plan that supersedes another upgrade', () => {
  const supersede = { all_sites: true, supersede: true }
  const openOf = async (id: string): Promise<number> => {
    const { body } = await harness.get(`/${id}`)
    return body.upgrades.flatMap(({ upgrade }: AnyJson) => upgrade.targets.scheduled).length
  }

  it('takes the devices over when it is started, not before', async () => {
    const { body: old } = await post({ all_sites: true, start_time: Math.floor(Date.now() / 1000) + 3600 })
    expect((await preview({ all_sites: true })).total).toBe(0)
    const plan = await preview(supersede)
    expect(plan).toMatchObject({ total: 5, skipped: [] })
    expect(plan.notes).toContainEqual({ reason: `5 devices are taken over from upgrade ${old.id}` })
    expect(await openOf(old.id)).toBe(5)
    expect(await post({ plan_id: plan.plan_id })).toMatchObject({ status: 200, body: { id: plan.plan_id } })
    expect([await openOf(old.id), await openOf(plan.plan_id)]).toEqual([0, 5])
  })

  it('that is refused leaves them', async () => {
    const { body: old } = await post({ all_sites: true, start_time: Math.floor(Date.now() / 1000) + 3600 })
    const plan = await preview(supersede)
    const [first = ''] = macsOf(0)
    await db().updateTable('deviceStatus').set({ firmware: '1.5.0' }).where('deviceId', '=', idOf(first)).execute()
    expect(await post({ plan_id: plan.plan_id })).toMatchObject({ status: 409 })
    expect(await openOf(old.id)).toBe(5)
  })

  it('may be that of one device', async () => {
    const { body: old } = await post({ all_sites: true, start_time: Math.floor(Date.now() / 1000) + 3600 })
    const [first = ''] = macsOf(0)
    const { server, admin } = harness
    const upgrade = (body: object) =>
      server.call('POST', `/sites/${siteId(0)}/devices/${idOf(first)}/upgrade`, {
        body: { version: NEW, start_time: Math.floor(Date.now() / 1000) + 3600, ...body },
        as: admin,
      })
    expect(await upgrade({})).toMatchObject({ status: 400 })
    expect(await upgrade({ supersede: true })).toMatchObject({ status: 200, body: { status: 'scheduled' } })
    expect(await openOf(old.id)).toBe(4)
    const detail = await harness.get(`/${old.id}/targets/${first}`)
    expect(detail.body).toMatchObject({ status: 'cancelled', phase: 0 })
    expect(detail.body.reason).toMatch(/^taken over by upgrade /)
  })

  it('counts devices as right that run the version, if it can take them out of the other upgrade', async () => {
    const start_time = Math.floor(Date.now() / 1000) + 3600
    const { body: old } = await post({ all_sites: true, version: NEW, start_time })
    const keep = { all_sites: true, version: OLD }
    const left = await preview(keep)
    expect([left.total, left.skipped.map(({ reason }: AnyJson) => reason)]).toEqual([
      0,
      Array(5).fill(expect.stringMatching(/^in upgrade /)),
    ])
    const plan = await preview({ ...keep, supersede: true })
    expect(plan.skipped.map(({ reason }: AnyJson) => reason)).toEqual(Array(5).fill(`runs ${OLD} already`))
    expect(plan.notes).toEqual([{ reason: `5 devices are taken over from upgrade ${old.id}` }])
    expect(await openOf(old.id)).toBe(5)
    expect(await post({ plan_id: plan.plan_id })).toMatchObject({ status: 200, body: { id: plan.plan_id } })
    expect(await openOf(old.id)).toBe(0)
  })

  it('no longer fits if another upgrade is to change devices that it found right', async () => {
    const keep = { all_sites: true, version: OLD }
    const plan = await preview(keep)
    expect(plan.skipped).toHaveLength(5)
    const { body: old } = await post({
      all_sites: true,
      version: NEW,
      start_time: Math.floor(Date.now() / 1000) + 3600,
    })
    const { status, body } = await post({ plan_id: plan.plan_id })
    expect([status, body.total]).toEqual([409, 5])
    expect(new Set(body.differences.map(({ reason }: AnyJson) => reason))).toEqual(
      new Set([expect.stringMatching(/^can't be upgraded any more: in upgrade /)]),
    )
    expect(await openOf(old.id)).toBe(5)
  })

  it('refuses a device that runs the version and is in another upgrade, and takes it over', async () => {
    const start_time = Math.floor(Date.now() / 1000) + 3600
    const { body: old } = await post({ all_sites: true, version: NEW, start_time })
    const [first = ''] = macsOf(0)
    const { server, admin } = harness
    const upgrade = (body: object) =>
      server.call('POST', `/sites/${siteId(0)}/devices/${idOf(first)}/upgrade`, {
        body: { version: OLD, ...body },
        as: admin,
      })
    expect(await upgrade({})).toMatchObject({ status: 400, body: { detail: 'The device is in another upgrade' } })
    expect(await upgrade({ supersede: true })).toMatchObject({ status: 200, body: { status: 'success' } })
    expect(await openOf(old.id)).toBe(4)
    const { body: device } = await server.call('GET', `/sites/${siteId(0)}/stats/devices/${idOf(first)}`, { as: admin })
    expect(device.fwupdate).toBeUndefined()
  })
})
