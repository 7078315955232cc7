// Gates of upgrades of edge appliances.
import { describe, expect, it, test } from 'vitest'
import { addBox, find, upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import type { AnyJson } from '../../../support/contract/any-json.ts'
import { addPrivilege } from '../../../support/people.ts'
import type { Answer } from '../../../support/servers/server.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { joinsIn } from './joins.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const clock = createTestClock()
const given = useMxedgeUpgrades(clock)
const { addOrg, inOrg, play, look } = joinsIn(() => given.world)
const MINUTE_MS = 60_000
const canary = { strategy: 'canary', canary_phases: [1, 100] }
const nowS = () => Math.floor(clock.now().getTime() / 1000)

const create = async (gate: object, more: object = canary): Promise<string> =>
  (await upgrade(given.world, given.tunterm({ ...more, phase_gates: [gate] }))).id
const approve = (id: string, body: object): Promise<Answer> => given.act(id, 'approve', body)
const countsOf = async (id: string): Promise<AnyJson> => (await find(given.world, id)).counts

/** Approves as another administrator of the organization. */
async function approveAsAnother(id: string, body: object): Promise<Answer> {
  const { world } = given
  const as = await world.addOrg()
  await addPrivilege(world, { orgId: world.org.orgId, adminId: as.adminId }, { scope: 'org', role: 'admin' })
  return world.call('POST', `/orgs/${world.org.orgId}/mxedges/upgrade/${id}/approve`, { body, as })
}

describe('an upgrade of edge appliances', () => {
  it('waits for the approval of its start, from its creation on', async () => {
    const gate = { phase: 0, wait_for: 'approval', prevent_self_approval: true }
    const { body: plan } = await given.post(given.tunterm({ name: 'Tunnels', phase_gates: [gate], dry_run: true }))
    const reason = 'its start waits for an approval by a person who has not created the upgrade'
    expect(plan.name).toBe('Tunnels')
    expect(plan.notes).toEqual([{ reason: `The upgrade does not begin at once: ${reason}` }])
    const { body: record } = await given.post({ plan_id: plan.plan_id })
    const held = { by: 'approval', phase: 0, reason }
    const shown = { name: 'Tunnels', status: 'queued', held }
    expect(record).toMatchObject({ ...shown, phase_gates: [gate] })
    expect(record.creator).toEqual({ admin_id: given.world.org.adminId, name: given.world.org.email })
    expect(record.start_gate).toEqual({ wait_for: 'approval', prevent_self_approval: true, passed: false })
    const { body: listed } = await given.world.call('GET', `/orgs/${given.world.org.orgId}/upgrades?held=true`)
    expect(listed).toMatchObject([{ id: record.id, ...shown }])
    await given.play()
    expect(await find(given.world, record.id)).toMatchObject({ status: 'queued', held, counts: { queued: 3 } })
    const refused = 'by the person who created the upgrade: its gate has prevent_self_approval'
    expect(await approve(record.id, { phase: 0 })).toMatchObject({
      status: 400,
      body: { detail: `The phase can't be approved ${refused}` },
    })
    expect(await given.act(record.id, 'resume')).toMatchObject({
      status: 400,
      body: { detail: `The upgrade can't be resumed: ${reason}, which the operation approve gives` },
    })
    expect(await approveAsAnother(record.id, { phase: 0, note: 'agreed' })).toMatchObject({ status: 200 })
    await given.play()
    const ended = await find(given.world, record.id)
    expect(ended).toMatchObject({ status: 'completed', counts: { success: 3 } })
    expect(ended.approvals).toMatchObject([{ phase: 0, by: 'approval', note: 'agreed' }])
    expect(ended.start_gate).toMatchObject({ passed: true, opened_by: { by: 'approval', note: 'agreed' } })
    expect(await given.messagesOf(record.id)).toEqual([
      `Approve the start (phase 0) of upgrade "Tunnels" (${record.id}) of edge appliances`,
      `Hold upgrade "Tunnels" (${record.id}) of edge appliances: ${reason}`,
    ])
  })

  it('waits after a phase until several people have approved it, over a pause and a retry', async () => {
    const id = await create(
      { phase: 1, wait_for: 'approval', approvals: 2 },
      { ...canary, max_failure_percentage: 100 },
    )
    const [first] = await given.idsBy(id, 'queued')
    await given.play([first])
    const reason = 'phase 1 ended and waits for 2 of 2 approvals by different people'
    const waits = { status: 'upgrading', phase: 1, counts: { failed: 1, queued: 2 }, held: { by: 'gate' } }
    expect(await find(given.world, id)).toMatchObject(waits)
    await given.act(id, 'retry')
    await given.play()
    expect(await find(given.world, id)).toMatchObject({
      phase: 1,
      held: { by: 'approval', reason, approvals_missing: 2 },
    })
    expect(await approve(id, { phase: 2 })).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^Invalid field phase: is 2/) },
    })
    expect(await approve(id, { phase: 1, phase_of: 'downloads' })).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^Invalid field phase_of: is downloads/) },
    })
    expect(await approve(id, { phase: 1 })).toMatchObject({ status: 200 })
    const gate = { wait_for: 'approval', approvals: 2, approved_by: [{ by: 'approval' }], passed: false }
    expect(await find(given.world, id)).toMatchObject({ held: { approvals_missing: 1 }, gates: [{ phase: 1, gate }] })
    expect(await approve(id, { phase: 1 })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('the same person again') },
    })
    await given.act(id, 'pause')
    expect(await approve(id, { phase: 1 })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('so resume it first') },
    })
    await given.act(id, 'resume')
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ held: { by: 'approval', approvals_missing: 1 } })
    expect(await approveAsAnother(id, { phase: 1 })).toMatchObject({ status: 200 })
    await given.play()
    expect(await countsOf(id)).toMatchObject({ success: 3 })
  })

  it('waits for a time, which ends by itself', async () => {
    const timed = await create({ phase: 1, wait_for: 'time', minutes: 30 })
    await given.play()
    expect(await find(given.world, timed)).toMatchObject({ phase: 1, held: { by: 'time', until: nowS() + 1800 } })
    clock.advance(29 * MINUTE_MS)
    await given.play()
    expect(await countsOf(timed)).toMatchObject({ success: 1, queued: 2 })
    clock.advance(2 * MINUTE_MS)
    await given.play()
    expect(await countsOf(timed)).toMatchObject({ success: 3 })
  })

  it('opens the next phase when a person resumes it, before its instant too, and shows who did', async () => {
    const id = await create({ phase: 1, wait_for: 'time', not_before: nowS() + 86_400 })
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ held: { by: 'time', until: nowS() + 86_400 } })
    await given.act(id, 'resume')
    await given.play()
    const ended = await find(given.world, id)
    expect([ended.status, ended.approvals]).toMatchObject(['completed', [{ phase: 1, by: 'resume' }]])
  })

  it('waits after a requested pause, and a phase that lost all its appliances waits as well', async () => {
    const id = await create({ phase: 1, wait_for: 'pause' })
    const [first] = await given.idsBy(id, 'queued')
    await given.act(id, 'exclude', { mxedge_ids: [first] })
    await given.play()
    const reason = 'phase 1 has no edge appliances, after which a pause was requested'
    expect(await find(given.world, id)).toMatchObject({ phase: 1, held: { by: 'gate', reason } })
    await given.act(id, 'resume')
    await given.play()
    expect(await countsOf(id)).toMatchObject({ success: 2, cancelled: 1 })
  })

  it('forgets its approvals with a change, and keeps a pause', async () => {
    const gate = { phase: 0, wait_for: 'approval', approvals: 2 }
    const { id } = await upgrade(given.world, given.tunterm({ start_time: nowS() + 3600, phase_gates: [gate] }))
    expect(await approve(id, { phase: 0 })).toMatchObject({ status: 200 })
    const path = `/orgs/${given.world.org.orgId}/mxedges/upgrade/${id}`
    const change = (body: object) => given.world.call('PUT', path, { body })
    const { body: later } = await change({ start_time: nowS() + 7200 })
    expect([later.held, later.approvals]).toMatchObject([{ approvals_missing: 2 }, undefined])
    await given.act(id, 'pause')
    const pause = `paused by ${given.world.org.email}`
    const before = ' (before: its start waits for 2 of 2 approvals by different people)'
    expect(later.held.reason).toBe(before.slice(' (before: '.length, -1))
    expect((await find(given.world, id)).held).toMatchObject({ by: 'user', reason: `${pause}${before}` })
    expect((await change({ '-phase_gates': '' })).body.held).toMatchObject({ by: 'user', reason: pause })
    expect((await change({ phase_gates: [gate] })).body.held).toMatchObject({ reason: `${pause}${before}` })
    expect((await change({ '-phase_gates': '' })).body.held).toMatchObject({ reason: pause })
    await given.act(id, 'resume')
    clock.advance(121 * MINUTE_MS)
    await given.play()
    expect(await countsOf(id)).toMatchObject({ success: 3 })
  })

  it('keeps its approvals and its plan with a change of its name, also by the whole record', async () => {
    const gate = { phase: 0, wait_for: 'approval', approvals: 2 }
    const { id } = await upgrade(given.world, given.tunterm({ ...canary, phase_gates: [gate] }))
    expect(await approve(id, { phase: 0 })).toMatchObject({ status: 200 })
    const record = await find(given.world, id)
    const change = async (body: object): Promise<AnyJson> => {
      const path = `/orgs/${given.world.org.orgId}/mxedges/upgrade/${id}`
      const answer = await given.world.call('PUT', path, { body })
      expect(answer.status).toBe(200)
      return answer.body
    }
    clock.advance(60 * MINUTE_MS)
    expect(await change({ ...record, name: 'Tunnels' })).toEqual({ ...record, name: 'Tunnels' })
    expect(await change({ ...record, name: 'Tunnels' })).toEqual({ ...record, name: 'Tunnels' })
    expect(await change({ '-name': '', '-end_time': '' })).toEqual(record)
    expect((await given.messagesOf(id)).slice(0, 3)).toEqual([
      `Rename upgrade ${id} of edge appliances`,
      `Rename upgrade "Tunnels" (${id}) of edge appliances`,
      expect.stringMatching('^Approve the start'),
    ])
    expect(await change({ strategy: 'big_bang' })).not.toHaveProperty('approvals')
  })

  it('keeps its approvals when appliances join it', async () => {
    const { world } = given
    const org = await addOrg()
    await addBox(world, { org })
    const gate = { phase: 0, wait_for: 'approval' }
    const body = { versions: { tunterm: '2.0.0' }, include_new: true, start_time: nowS() + 3600, phase_gates: [gate] }
    const { body: record } = await inOrg(org, 'POST', '', body)
    const read = async (): Promise<AnyJson> => (await inOrg(org, 'GET', `/${record.id}`)).body
    await addBox(world, { org })
    await look(record.id)
    expect(await inOrg(org, 'POST', `/${record.id}/approve`, { phase: 0 })).toMatchObject({ status: 200 })
    await addBox(world, { org })
    await look(record.id)
    expect(await read()).toMatchObject({ counts: { queued: 3 }, approvals: [{ phase: 0 }] })
    clock.advance(61 * MINUTE_MS)
    await play(org.orgId)
    expect((await read()).counts).toMatchObject({ success: 3 })
  })

  it('can be approved before its start once its first appliance has joined, and after a pause', async () => {
    const { world } = given
    const org = await addOrg()
    await addBox(world, { org })
    const wanted = { versions: { tunterm: '2.0.0' }, start_time: nowS() + 3600 }
    const { body: other } = await inOrg(org, 'POST', '', wanted)
    const gate = { phase: 0, wait_for: 'approval' }
    const { body: record } = await inOrg(org, 'POST', '', { ...wanted, include_new: true, phase_gates: [gate] })
    expect(record).toMatchObject({ status: 'completed', awaited: 1 })
    await inOrg(org, 'POST', `/${other.id}/cancel`)
    await play(org.orgId)
    await look(record.id)
    const read = async (): Promise<AnyJson> => (await inOrg(org, 'GET', `/${record.id}`)).body
    await play(org.orgId)
    expect(await read()).toMatchObject({ status: 'queued', held: { by: 'approval', phase: 0 } })
    await inOrg(org, 'POST', `/${record.id}/pause`)
    await inOrg(org, 'POST', `/${record.id}/resume`)
    await play(org.orgId)
    expect(await inOrg(org, 'POST', `/${record.id}/approve`, { phase: 0 })).toMatchObject({ status: 200 })
    await play(org.orgId)
    expect(await read()).not.toHaveProperty('held')
    clock.advance(61 * MINUTE_MS)
    await play(org.orgId)
    expect((await read()).counts).toMatchObject({ success: 1 })
  })

  it('does not wait once a change leaves it nothing to do, although a person had paused it', async () => {
    const gate = { phase: 0, wait_for: 'approval' }
    const { id } = await upgrade(given.world, given.tunterm({ start_time: nowS() + 3600, phase_gates: [gate] }))
    await given.act(id, 'pause')
    const path = `/orgs/${given.world.org.orgId}/mxedges/upgrade/${id}`
    const { body } = await given.world.call('PUT', path, { body: { versions: { tunterm: 'current' } } })
    expect(body).toMatchObject({ status: 'completed' })
    expect(body).not.toHaveProperty('held')
  })

  it('that a change gave an excluded appliance back is cancelled with those that it lacks', async () => {
    const start = { start_time: nowS() + 3600, phase_gates: [{ phase: 1, wait_for: 'pause' }] }
    const { id } = await upgrade(given.world, given.tunterm({ strategy: 'canary', canary_phases: [60, 100], ...start }))
    await given.act(id, 'exclude', { mxedge_ids: given.boxes.slice(0, 1) })
    const path = `/orgs/${given.world.org.orgId}/mxedges/upgrade/${id}`
    expect((await given.world.call('PUT', path, { body: { start_time: nowS() } })).body.counts).toMatchObject({
      queued: 3,
    })
    await given.play()
    await given.act(id, 'cancel')
    await given.play()
    expect(await find(given.world, id)).toMatchObject({ status: 'cancelled', counts: { success: 2, cancelled: 1 } })
  })

  it('ends at its end while it waits, without an appliance that was commanded', async () => {
    const gate = { phase: 0, wait_for: 'approval' }
    const { id } = await upgrade(given.world, given.tunterm({ end_time: nowS() + 3600, phase_gates: [gate] }))
    clock.advance(61 * MINUTE_MS)
    await given.play()
    const ended = await find(given.world, id)
    expect(ended).toMatchObject({ status: 'cancelled', counts: { cancelled: 3 } })
    expect(ended).not.toHaveProperty('held')
  })
})

const IN_2100_S = 4_102_444_800

test.each<[object, string, string]>([
  [
    { ...canary, phase_gates: [{ phase: 1, wait_for: 'pause', phase_of: 'downloads' }] },
    'phase_gates.0.phase_of',
    'is downloads',
  ],
  [{ ...canary, phase_gates: [{ phase: 2, wait_for: 'pause' }] }, 'phase_gates.0.phase', 'must be less than 2'],
  [
    { strategy: 'serial', phase_gates: [{ phase: 1, wait_for: 'pause' }] },
    'phase_gates',
    'is given with the strategy serial',
  ],
  [{ phase_gates: [{ phase: 0, wait_for: 'pause' }] }, 'phase_gates.0.wait_for', 'is pause, but phase 0'],
  [
    { ...canary, start_time: IN_2100_S, phase_gates: [{ phase: 1, wait_for: 'time', not_before: IN_2100_S - 1 }] },
    'phase_gates.0.not_before',
    'before start_time',
  ],
  [
    { ...canary, end_time: IN_2100_S, phase_gates: [{ phase: 1, wait_for: 'time', not_before: IN_2100_S }] },
    'phase_gates.0.not_before',
    'but end_time is',
  ],
])('%j is refused by the field %s: %s', async (body, field, reason) => {
  const answer = await given.post(given.tunterm(body))
  expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(`^Invalid field ${field}: `)])
  expect(answer.body.detail).toContain(reason)
})
