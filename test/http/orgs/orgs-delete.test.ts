import { randomUUID } from 'node:crypto'
import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firmwareTasks, sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import { addSite, claimNewDevice, makeDevices } from '../../support/fleets/devices.ts'
import { addPerson, addPrivilege, makeSsoAdmin } from '../../support/people.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const hook = { url: 'http://127.0.0.1:9/hook', topics: ['audits'], secret: 'hunter2' }

async function create(path: string, body: unknown, as = server.org) {
  const answer = await server.call('POST', path, { as, body })
  expect(answer, path).toMatchObject({ status: 200 })
  return answer.body
}

/** Lists the tables that still have rows of the organization. */
async function tablesWith(column: 'org_id' | 'site_id', id: string): Promise<string[]> {
  const { db } = server.ctx
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = ${column} order by 1`.execute(db)
  const found: string[] = []
  for (const { name } of rows) {
    const some = await sql`select from ${sql.table(name)} where ${sql.ref(column)} = ${id}::uuid limit 1`.execute(db)
    if (some.rows.length > 0) found.push(name)
  }
  return found
}

/** Counts the events of devices by the codes of their organizations. The view `device_event` has none of a deleted organization. */
async function eventsByOrgCode(): Promise<Record<number, number>> {
  const { db } = server.ctx
  const { rows } = await sql<{ org: number; events: string }>`
    select org, count(*) as events from device_event_row group by org`.execute(db)
  return Object.fromEntries(rows.map(({ org, events }) => [org, Number(events)]))
}

describe('a site', () => {
  it("can't be deleted while devices are assigned to it", async () => {
    const siteId = await addSite(server, 'Busy')
    const device = await claimNewDevice(server, { siteId })
    expect(await server.call('DELETE', `/sites/${siteId}`)).toMatchObject({
      status: 400,
      body: { detail: 'The site still has 1 device (unassign first)', devices: 1, upgrades: 0 },
    })
    expect((await server.call('GET', `/sites/${siteId}`)).status).toBe(200)
    const body = { op: 'unassign', macs: [device.mac] }
    await server.call('PUT', `/orgs/${server.org.orgId}/inventory`, { body })
    expect((await server.call('DELETE', `/sites/${siteId}`)).status).toBe(200)
  })

  it('is deleted with its settings, webhooks, privileges and memberships', async () => {
    const siteId = await addSite(server, 'Gone')
    const org = `/orgs/${server.org.orgId}`
    const group = await create(`${org}/sitegroups`, { name: 'Group', site_ids: [siteId] })
    const orgHook = await create(`${org}/webhooks`, hook)
    const siteHook = await create(`/sites/${siteId}/webhooks`, hook)
    await server.call('PUT', `/sites/${siteId}/setting`, { body: { vars: { a: 'b' } } })
    await server.call('PUT', `${org}/setting`, { body: { installer: { extra_site_ids: [siteId], grace_period: 3 } } })
    const keeper = await addPerson(server, [{ scope: 'site', role: 'write', site_id: siteId }])
    expect((await server.call('DELETE', `/sites/${siteId}`, { as: keeper })).status).toBe(403)

    expect(await server.call('DELETE', `/sites/${siteId}`)).toMatchObject({ status: 200, body: {} })

    // Events of devices may still name the place.
    expect(await tablesWith('site_id', siteId)).toEqual(['audit_log', 'event_place', 'webhook_outbox'])
    for (const path of [`/sites/${siteId}`, `/sites/${siteId}/setting`, `/sites/${siteId}/webhooks/${siteHook.id}`])
      expect((await server.call('GET', path)).status, path).toBe(404)
    expect((await server.call('DELETE', `/sites/${siteId}`)).status).toBe(404)
    expect((await server.call('GET', `${org}/sitegroups/${group.id}`)).body.site_ids).toEqual([])
    expect((await server.call('GET', `${org}/setting`)).body.installer).toEqual({ extra_site_ids: [], grace_period: 3 })
    expect((await server.call('GET', `${org}/webhooks/${orgHook.id}`)).status).toBe(200)
    const lanes = await server.ctx.db.selectFrom('webhookLane').select('webhookId').execute()
    expect(lanes).toEqual([{ webhookId: orgHook.id }])
    const { results } = (await server.call('GET', `${org}/logs?limit=1`)).body
    expect(results[0]).toMatchObject({
      message: 'Delete Site "Gone"',
      site_id: siteId,
      before: { name: 'Gone', timezone: 'UTC', admins: [{ email: keeper.email, role: 'write' }] },
    })
    const self = await server.call('GET', '/self/logs', { as: keeper })
    expect(self.body.results).toMatchObject([{ message: 'Delete Site "Gone"' }])
  })
})

describe('an organization', () => {
  async function fill(org: TestOrg): Promise<string> {
    const path = `/orgs/${org.orgId}`
    const siteId = await addSite(server, 'Site', org)
    await create(`${path}/sitegroups`, { name: 'Group', site_ids: [siteId] }, org)
    await create(`${path}/webhooks`, hook, org)
    await create(`/sites/${siteId}/webhooks`, hook, org)
    const privileges = [{ scope: 'org', role: 'read' }]
    await create(`${path}/apitokens`, { name: 'script', privileges }, org)
    await create(`${path}/invites`, { email: `guest-of-${org.orgId}@example.test`, privileges }, org)
    await create(`${path}/ssoroles`, { name: 'readers', privileges }, org)
    await server.call('PUT', `${path}/setting`, { as: org, body: { ui_idle_timeout: 5 } })
    await server.call('PUT', `/sites/${siteId}/setting`, { as: org, body: { vars: {} } })
    return siteId
  }

  it("can't be deleted while it has devices, which the error mentions", async () => {
    const org = await server.addOrg('Busy')
    const ofOthers = await eventsByOrgCode()
    const [device] = await makeDevices(server.ctx, 1)
    await create(`/orgs/${org.orgId}/inventory`, [device?.claim_code], org)
    const refused = await server.call('DELETE', `/orgs/${org.orgId}`, { as: org })
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: 'The organization still has 1 device (unclaim first)', devices: 1 },
    })
    const body = { op: 'delete', macs: [device?.mac] }
    expect((await server.call('PUT', `/orgs/${org.orgId}/inventory`, { as: org, body })).status).toBe(200)
    expect(Object.values(await eventsByOrgCode())).toEqual([...Object.values(ofOthers), 2])
    expect((await server.call('DELETE', `/orgs/${org.orgId}`, { as: org })).status).toBe(200)
    expect(await tablesWith('org_id', org.orgId)).toEqual(['audit_log'])
    expect(await eventsByOrgCode()).toEqual(ofOthers)
  })

  it('leaves its firmware files to a chore, which keeps the files of running uploads', async () => {
    const files = { dir: join(server.dataDir, 'firmware'), maxBytes: 1024 }
    await sweepFirmwareFiles(server.ctx, files)
    const org = await server.addOrg('With firmware')
    const headers = { 'content-type': 'application/octet-stream' }
    const upload = (as: TestOrg, body: string) =>
      server.call('POST', `/orgs/${as.orgId}/firmware?version=1&models=AP45`, { as, body, headers })
    const gone = (await upload(org, 'gone')).body.id
    const kept = (await upload(server.org, 'kept')).body.id
    expect((await server.call('DELETE', `/orgs/${org.orgId}`, { as: org })).status).toBe(200)
    const underWay = randomUUID()
    await writeFile(join(files.dir, underWay), 'renamed, and not committed yet')
    for (const id of [gone, kept]) await utimes(join(files.dir, id), 0, 0)
    const [chore] = firmwareTasks(server.ctx, files)
    await chore?.run(null, new AbortController().signal)
    expect(new Set(await readdir(files.dir))).toEqual(new Set([kept, underWay, 'incoming']))
  })

  it('is deleted with everything in it, without affecting others', async () => {
    const org = await server.addOrg('Gone')
    const left = await server.addOrg('Left')
    await fill(left)
    await fill(org)
    const sso = await create(`/orgs/${org.orgId}/ssos`, { name: 'Company' }, org)
    const vouched = await server.addOrg('Vouched for')
    await makeSsoAdmin(server, vouched)
    const { db } = server.ctx
    await db.updateTable('admin').set({ ssoId: sso.id }).where('id', '=', vouched.adminId).execute()
    const admin = await addPerson(server, [])
    await addPrivilege(server, { orgId: org.orgId, adminId: admin.adminId }, { scope: 'org', role: 'write' })
    const before = await tablesWith('org_id', left.orgId)
    for (const as of [admin, left])
      expect((await server.call('DELETE', `/orgs/${org.orgId}`, { as })).status).toBeGreaterThanOrEqual(403)

    expect(await server.call('DELETE', `/orgs/${org.orgId}`, { as: org })).toMatchObject({ status: 200, body: {} })

    // Its audit log is kept for the operator; the event waits until the router finds that no webhook receives it, and the
    // webhook is recorded until its messages are deleted.
    expect(await tablesWith('org_id', org.orgId)).toEqual(['audit_log', 'webhook_deletion', 'webhook_outbox'])
    expect(await tablesWith('org_id', left.orgId)).toEqual(before)
    expect((await server.call('GET', `/orgs/${org.orgId}`, { as: org })).status).toBe(404)
    expect((await server.call('DELETE', `/orgs/${org.orgId}`, { as: org })).status).toBe(404)
    expect((await server.call('GET', '/self', { as: org })).body.privileges).toEqual([])
    expect((await server.call('GET', '/self', { as: vouched })).status).toBe(401)
    const last = await db
      .selectFrom('auditLog')
      .selectAll()
      .where('orgId', '=', org.orgId)
      .orderBy('id', 'desc')
      .executeTakeFirst()
    expect(last).toMatchObject({ message: 'Delete Org "Gone"', adminId: org.adminId, before: { name: 'Gone' } })
    expect(JSON.stringify(last)).not.toContain('hunter2')
    for (const as of [org, admin])
      expect((await server.call('GET', '/self/logs', { as })).body.results[0]).toMatchObject({
        message: 'Delete Org "Gone"',
      })
  })
})
