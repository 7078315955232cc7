import { expect, it } from 'vitest'
import { json } from '../../../src/platform/database/db.ts'
import type { UpgradeHold } from '../../../src/rollout/rollout.ts'
import { NEW } from '../../support/fleets/fleet.ts'
import type { TestOrg } from '../../support/servers/server.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'
import { addPrivilege, makeSsoAdmin } from '../../support/people.ts'

const harness = createUpgradesHarness()
const { post, get, call } = harness

const canary = { all_sites: true, strategy: 'canary', canary_phases: [20, 50, 100] }
const IN_2100_S = Date.UTC(2100, 0, 1) / 1000
const check = (url: string) => ({ ...canary, phase_gates: [{ phase: 1, wait_for: 'check', url }] })

it.each([
  [
    { ...canary, phase_gates: [{ phase: 3, wait_for: 'approval' }] },
    'phase_gates.0.phase',
    'is 3, but must be less than 3',
  ],
  [{ ...canary, phase_gates: [{ phase: -1, wait_for: 'approval' }] }, 'phase_gates.0.phase', ''],
  [{ phase_gates: [{ phase: 0, wait_for: 'pause' }] }, 'phase_gates.0.wait_for', 'is pause, but phase 0, the start,'],
  [{ phase_gates: [{ phase: 0, wait_for: 'approval', phase_of: 'reboots' }] }, 'phase_gates.0.phase_of', 'is given'],
  [
    { phase_gates: [{ phase: 0, wait_for: 'approval', url: 'http://example.test' }] },
    'phase_gates.0.url',
    'is given with wait_for approval',
  ],
  [
    { phase_gates: [0, 0].map((phase) => ({ phase, wait_for: 'approval' })) },
    'phase_gates.1.phase',
    'is 0, which another gate',
  ],
  [{ ...canary, phase_gates: [{ phase: 1, wait_for: 'check' }] }, 'phase_gates.0.url', 'is required'],
  [check('ftp://example.test'), 'phase_gates.0.url', 'must be an address'],
  [check('http://a:b@example.test'), 'phase_gates.0.url', 'may not contain a user name'],
  [check('http://10.1.2.3/'), 'phase_gates.0.url', 'Address 10.1.2.3 is not public'],
  [
    { ...canary, phase_gates: [{ phase: 1, wait_for: 'pause', url: 'http://example.test' }] },
    'phase_gates.0.url',
    'is given with wait_for pause',
  ],
  [{ ...canary, phase_gates: [{ phase: 1, wait_for: 'luck' }] }, 'phase_gates.0.wait_for', ''],
  [{ ...canary, phase_gates: [{ phase: 1, wait_for: 'time' }] }, 'phase_gates.0.minutes', 'is required'],
  [{ ...canary, phase_gates: [{ phase: 1, wait_for: 'time', minutes: 0 }] }, 'phase_gates.0.minutes', ''],
  [{ ...canary, phase_gates: [{ phase: 1, wait_for: 'time', minutes: 43_201 }] }, 'phase_gates.0.minutes', ''],
  [
    { ...canary, phase_gates: [{ phase: 1, wait_for: 'pause', minutes: 5 }] },
    'phase_gates.0.minutes',
    'is given with wait_for pause',
  ],
  [{ ...canary, phase_gates: [{ phase: 1, wait_for: 'time', not_before: 0 }] }, 'phase_gates.0.not_before', ''],
  [
    { ...canary, phase_gates: [{ phase: 1, wait_for: 'time', not_before: 1_700_000_000 }] },
    'phase_gates.0.not_before',
    'is 2023-11-14T22:13:20.000Z, more than 5 minutes ago',
  ],
  [
    { ...canary, phase_gates: [{ phase: 1, wait_for: 'pause', not_before: IN_2100_S }] },
    'phase_gates.0.not_before',
    'is given with wait_for pause',
  ],
  [
    { phase_gates: [{ phase: 0, wait_for: 'approval', not_before: IN_2100_S }] },
    'phase_gates.0.not_before',
    'is given with phase 0, the start, whose time is start_time',
  ],
  [
    { ...canary, phase_gates: [2, 1].map((phase) => ({ phase, wait_for: 'time', not_before: IN_2100_S - phase })) },
    'phase_gates.0.not_before',
    'is 2099-12-31T23:59:58.000Z, before that of the gate after phase 1, which is 2099-12-31T23:59:59.000Z',
  ],
  [
    {
      ...{ ...canary, start_time: IN_2100_S },
      phase_gates: [{ phase: 1, wait_for: 'approval', not_before: IN_2100_S - 1 }],
    },
    'phase_gates.0.not_before',
    'is 2099-12-31T23:59:59.000Z, before start_time, which is 2100-01-01T00:00:00.000Z',
  ],
  [{ ...canary, phase_gates: [{ phase: 1 }] }, 'phase_gates.0', ''],
  [{ ...canary, phase_gates: [{ phase: 1, wait_for: 'approval', approvals: 6 }] }, 'phase_gates.0.approvals', ''],
  [{ ...canary, phase_gates: [{ phase: 1, wait_for: 'approval', approvals: 0 }] }, 'phase_gates.0.approvals', ''],
  [
    { ...canary, phase_gates: [{ phase: 1, wait_for: 'pause', approvals: 2 }] },
    'phase_gates.0.approvals',
    'is given with wait_for pause',
  ],
  [
    { ...canary, phase_gates: [1, 1].map((phase) => ({ phase, wait_for: 'pause' })) },
    'phase_gates.1.phase',
    'is 1, which another gate',
  ],
  [
    { ...canary, phase_scope: 'site', phase_gates: [{ phase: 1, wait_for: 'pause' }] },
    'phase_gates',
    'is given with the phase_scope site',
  ],
  [
    { ...canary, strategy: 'serial', phase_gates: [{ phase: 1, wait_for: 'pause' }] },
    'phase_gates',
    'is given with the strategy serial',
  ],
])('%j is refused before anything is written', async (body, field, why) => {
  const answer = await post(body)
  expect(answer).toMatchObject({ status: 400 })
  expect(answer.body.detail).toMatch(new RegExp(`^Invalid field ${field}(\\.\\w+)?: ${why}`))
  expect(await harness.rowsLeft()).toBe(0)
})

it('a phase is approved with a note, which the record and the audit show, and not before it waits', async () => {
  const { body } = await post({ ...canary, phase_gates: [{ phase: 1, wait_for: 'approval' }] })
  expect(await call(body.id, 'approve', { phase: 1 })).toMatchObject({
    status: 400,
    body: { detail: 'Invalid field phase: is 1, but no phase of the upgrade waits for an approval' },
  })
  await hold(body.id, { by: 'approval', reason: 'phase 1 ended and waits for an approval' })
  expect((await get(`/${body.id}`)).body.upgrades[0].upgrade).toMatchObject({
    held: { by: 'approval' },
    notes: [{ reason: 'held: phase 1 ended and waits for an approval' }],
  })
  expect(await call(body.id, 'resume')).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('which the operation approve gives') },
  })
  expect(await call(body.id, 'approve', { phase: 2 })).toMatchObject({
    status: 400,
    body: { detail: 'Invalid field phase: is 2, but phase 1 waits for an approval' },
  })
  expect(await call(body.id, 'approve', { phase: 1, note: ' ' })).toMatchObject({
    status: 400,
    body: { detail: expect.stringMatching(/^Invalid field note: .*a character other than spaces/) },
  })
  const note = 'no complaint for a night'
  expect(await call(body.id, 'approve', { phase: 1, note })).toMatchObject({ status: 200, body: {} })
  const approval = { phase: 1, by: 'approval', name: expect.any(String), admin_id: expect.any(String), note }
  const { body: record } = await get(`/${body.id}`)
  expect(record.approvals).toMatchObject([approval])
  expect(record.upgrades[0].upgrade.held).toBeUndefined()
  const { body: log } = await harness.server.call('GET', `/orgs/${harness.admin.orgId}/logs`, { as: harness.admin })
  expect(log.results[0]).toMatchObject({ message: `Approve phase 1 of upgrade ${body.id}` })
  expect(JSON.stringify(log.results[0])).toContain(note)
})

it('an upgrade may wait for the approval of its start, at a site too, which the plan, the answer and the report show', async () => {
  const gated = { phase_gates: [{ phase: 0, wait_for: 'approval', prevent_self_approval: true }] }
  const { body: plan } = await post({ all_sites: true, ...gated, dry_run: true })
  const waits = 'its start waits for an approval by a person who has not created the upgrade'
  expect(plan.notes).toEqual([{ reason: `The upgrade does not begin at once: ${waits}` }])
  const { body } = await post({ plan_id: plan.plan_id })
  const held = { by: 'approval', reason: waits, phase: 0 }
  expect(body.upgrades).toMatchObject([{ upgrade: { status: 'queued', held } }, { upgrade: { held } }])
  const { body: listed } = await harness.server.call('GET', `/orgs/${harness.admin.orgId}/upgrades?held=true`, {
    as: harness.admin,
  })
  expect(listed).toMatchObject([{ id: body.id, status: 'queued', held }])
  expect((await get(`/${body.id}/report`)).body).toMatchObject({
    start_gate: { wait_for: 'approval', prevent_self_approval: true, passed: false },
    decisions: [{ type: 'UPGRADE_CREATED' }, { type: 'UPGRADE_HELD', phase: 0, reason: waits, name: 'rollout' }],
  })
  expect(await call(body.id, 'approve', { phase: 0 })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('the person who created the upgrade') },
  })
  const path = `/sites/${harness.siteId(0)}/devices/upgrade`
  const defaults = { prevent_self_approval: false, approvals: 1 }
  const site = { phase_gates: [{ phase: 0, wait_for: 'approval', ...defaults }], version: NEW, supersede: true }
  const made = await harness.server.call('POST', path, { body: site, as: harness.admin })
  expect(
    (await harness.server.call('GET', `${path}/${made.body.upgrade_id}`, { as: harness.admin })).body,
  ).toMatchObject({
    held: { phase: 0 },
  })
  const { body: all } = await get()
  const byRobot = { body: { phase: 0, note: 'agreed' }, as: { ...harness.admin, token: await addRobot() } }
  expect(await harness.server.call('POST', `${harness.path}/${all[0].id}/approve`, byRobot)).toMatchObject({
    status: 200,
  })
  expect((await get(`/${all[0].id}/report`)).body.start_gate).toEqual({
    wait_for: 'approval',
    passed: true,
    opened_by: { by: 'approval', name: expect.any(String), note: 'agreed', timestamp: expect.any(Number) },
  })
})

it('a wait at a gate of the downloads says so', async () => {
  const { body } = await post({ ...canary, download_strategy: 'canary' })
  await hold(body.id, { by: 'approval', reason: 'download phase 1 ended', of: 'downloads' })
  const held = { by: 'approval', phase_of: 'downloads' }
  expect((await get(`/${body.id}`)).body.upgrades[0].upgrade).toMatchObject({ held })
  expect((await get('')).body[0]).toMatchObject({ id: body.id, held })
})

it('a gate may demand the approval of a person who has not created the upgrade', async () => {
  const gate = { phase: 1, wait_for: 'approval', prevent_self_approval: true }
  expect(await post({ ...canary, phase_gates: [{ ...gate, wait_for: 'pause' }] })).toMatchObject({
    status: 400,
    body: {
      detail:
        'Invalid field phase_gates.0.prevent_self_approval: is given with wait_for pause, but only an approval is given by a person',
    },
  })
  const { body } = await post({ ...canary, phase_gates: [gate] })
  expect((await get(`/${body.id}/report`)).body.phases[0].gate).toMatchObject({ prevent_self_approval: true })
  await hold(body.id, { by: 'approval', reason: 'phase 1 ended' })
  const approve = (token: string) =>
    harness.server.call('POST', `${harness.path}/${body.id}/approve`, {
      body: { phase: 1 },
      as: { ...harness.admin, token },
    })
  const refused = (who: string) => ({
    status: 400,
    body: { detail: `The phase can't be approved by ${who}: its gate has prevent_self_approval` },
  })
  expect(await approve(harness.admin.token)).toMatchObject(refused('the person who created the upgrade'))
  expect(await approve(await addRobot())).toMatchObject(refused('a token that belongs to no person'))
  expect(await approve((await addSsoAccount()).token)).toMatchObject(refused('the person who created the upgrade'))
  const another = await addAdmin()
  expect(await approve(another.token)).toMatchObject({ status: 200 })
  expect((await get(`/${body.id}`)).body.approvals).toMatchObject([{ phase: 1, admin_id: another.adminId }])
})

it('a wait for a time shows until when it waits, and a preview has it in its times', async () => {
  const wait = { phase: 1, wait_for: 'time', minutes: 480 }
  const { body: at } = await post({ ...canary, dry_run: true })
  const { body: later } = await post({ ...canary, phase_gates: [wait], dry_run: true })
  expect(later.ends_about - at.ends_about).toBeGreaterThan(479 * 60)
  const begins = (phase: number) => later.phases[phase].sites[0].begins_about
  expect(begins(1) - begins(0)).toBeGreaterThan(480 * 60)
  const { body } = await post({ ...canary, phase_gates: [wait] })
  expect((await get(`/${body.id}/report`)).body.phases[0].gate).toMatchObject({ wait_for: 'time', minutes: 480 })
  await hold(body.id, { by: 'time', reason: 'phase 1 ended and waits for 480 minutes', wait_ms: 480 * 60_000 })
  expect((await get('')).body[0].held).toMatchObject({ by: 'time', until: 480 * 60, timestamp: 0 })
})

it('a gate shows the instant for which it waits, and a plan keeps it', async () => {
  const gate = { phase: 1, wait_for: 'approval', not_before: IN_2100_S }
  const { body: plan } = await post({ ...canary, phase_gates: [gate], dry_run: true })
  expect(plan.phases[1].sites[0].begins_about).toBe(IN_2100_S)
  const { body } = await post({ plan_id: plan.plan_id })
  expect((await get(`/${body.id}/report`)).body.phases[0].gate).toMatchObject({
    ...{ wait_for: 'approval', not_before: IN_2100_S },
  })
  await hold(body.id, { by: 'time', reason: 'phase 1 ended and waits', not_before_s: IN_2100_S })
  expect((await get('')).body[0].held).toMatchObject({ by: 'time', until: IN_2100_S })
})

it('a gate may need the approvals of several people, each of whom counts once', async () => {
  const gate = { phase: 0, wait_for: 'approval', approvals: 2 }
  const { body } = await post({ ...canary, phase_gates: [gate, { ...gate, phase: 1 }] })
  const approve = (token: string, note: string) =>
    harness.server.call('POST', `${harness.path}/${body.id}/approve`, {
      body: { phase: 0, note },
      as: { ...harness.admin, token },
    })
  const refused = (who: string) => ({
    status: 400,
    body: { detail: `The phase can't be approved by ${who}: its gate needs approvals by 2 different people` },
  })
  const held = async () => (await get(`/${body.id}`)).body.upgrades[0].upgrade.held
  expect(await held()).toMatchObject({ approvals_missing: 2, reason: expect.stringContaining('2 of 2 approvals') })
  expect(await approve(harness.admin.token, 'first')).toMatchObject({ status: 200 })
  expect(await approve(harness.admin.token, 'again')).toMatchObject(refused('the same person again'))
  expect(await approve((await addSsoAccount()).token, 'and again')).toMatchObject(refused('the same person again'))
  expect(await approve(await addRobot(), 'me too')).toMatchObject(refused('a token that belongs to no person'))
  expect(await held()).toMatchObject({ by: 'approval', phase: 0, approvals_missing: 1 })
  const report = async () => (await get(`/${body.id}/report`)).body
  const { start_gate: startGate, phases } = await report()
  expect(startGate).toMatchObject({ approvals: 2, approved_by: [{ note: 'first' }], passed: false })
  expect(startGate).not.toHaveProperty('opened_by')
  expect(phases[0].gate).toMatchObject({ approvals: 2, approved_by: [], passed: false })
  const last = async () => (await report()).decisions.at(-1)
  expect(await last()).toMatchObject({ type: 'UPGRADE_APPROVED', phase: 0, approvals_missing: 1 })
  const another = await addAdmin()
  expect(await approve(another.token, 'second')).toMatchObject({ status: 200 })
  expect(await held()).toBeUndefined()
  expect(await last()).not.toHaveProperty('approvals_missing')
  const by = [
    { note: 'first', admin_id: harness.admin.adminId },
    { note: 'second', admin_id: another.adminId },
  ]
  expect((await get(`/${body.id}`)).body.approvals).toMatchObject(by)
  expect((await report()).start_gate).toMatchObject({ approved_by: by, passed: true, opened_by: { note: 'second' } })
  const { body: log } = await harness.server.call('GET', `/orgs/${harness.admin.orgId}/logs`, { as: harness.admin })
  const approvals = log.results.flatMap(
    ({ message }: { message: string }) => /^Approve the start.*/.exec(message) ?? [],
  )
  expect(approvals).toEqual([
    `Approve the start (phase 0) of upgrade ${body.id}`,
    `Approve the start (phase 0) of upgrade ${body.id}, which waits for 1 further approval`,
  ])
})

/** @returns The key of a token of the organization. */
async function addRobot(): Promise<string> {
  const token = { name: 'robot', privileges: [{ scope: 'org', org_id: harness.admin.orgId, role: 'admin' }] }
  const apitokens = `/orgs/${harness.admin.orgId}/apitokens`
  return (await harness.server.call('POST', apitokens, { body: token, as: harness.admin })).body.key
}

/** Adds another administrator of the organization. */
async function addAdmin(): Promise<TestOrg> {
  const another = await harness.server.addOrg()
  await addPrivilege(
    harness.server,
    { orgId: harness.admin.orgId, adminId: another.adminId },
    { scope: 'org', role: 'admin' },
  )
  return another
}

/** Pauses an upgrade and its site upgrades as the engine does. */
async function hold(
  id: string,
  how: Pick<UpgradeHold, 'by' | 'reason' | 'of' | 'wait_ms' | 'not_before_s'>,
): Promise<void> {
  const { db } = harness.server.ctx
  const held = json({ ...how, since_s: 0, since_ms: 0 })
  await db.updateTable('orgUpgrade').set({ hold: held }).where('id', '=', id).execute()
  await db.updateTable('siteUpgrade').set({ hold: held }).where('orgUpgradeId', '=', id).execute()
}

/** Adds an account of the admin by single sign-on, in which the address has another spelling. */
async function addSsoAccount(): Promise<TestOrg> {
  const account = await addAdmin()
  await makeSsoAdmin(harness.server, account)
  const email = harness.admin.email.toUpperCase()
  await harness.server.ctx.db.updateTable('admin').set({ email }).where('id', '=', account.adminId).execute()
  return account
}
