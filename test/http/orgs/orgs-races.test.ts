import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { join } from 'node:path'
import { sweepFirmwareFiles } from '../../../src/firmware/storage/storage.ts'
import type { Tx } from '../../../src/platform/database/db.ts'
import { addSite, connectDevice, makeDevices } from '../../support/fleets/devices.ts'
import { type Answer, type TestOrg, type TestServer, startTestServer } from '../../support/servers/server.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'

let server: TestServer
let org: TestOrg
let siteId: string
let path: string

beforeAll(async () => {
  server = await startTestServer()
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
})
afterAll(() => server.close())
beforeEach(async () => {
  org = await server.addOrg('Raced')
  path = `/orgs/${org.orgId}`
  siteId = await addSite(server, 'Raced', org)
})

const call = (method: string, of: string, body?: unknown) =>
  server.call(method, of, { as: org, ...(body !== undefined && { body }) })

const lockOrgRow = (tx: Tx) => tx.selectFrom('org').select('id').where('id', '=', org.orgId).forUpdate().execute()

/**
 * Makes the calls wait for the organization, in this order, and then releases it.
 * @returns Their answers, in the same order.
 */
async function queueAtOrg(calls: readonly (() => Promise<Answer>)[]): Promise<Answer[]> {
  const running: Promise<Answer>[] = []
  await server.ctx.db.transaction().execute(async (tx) => {
    await lockOrgRow(tx)
    for (const start of calls) {
      running.push(start())
      await untilWaiting(server, running.length)
    }
  })
  return Promise.all(running)
}

const hook = { url: 'http://127.0.0.1:9/hook', topics: ['audits'] }
const privileges = [{ scope: 'org', role: 'read' }]

describe('an object created while its organization is deleted', () => {
  const made: readonly [string, () => Promise<Answer>][] = [
    ['a site', () => call('POST', `${path}/sites`, { name: 'Late' })],
    ['a site group', () => call('POST', `${path}/sitegroups`, { name: 'Late' })],
    ['a webhook', () => call('POST', `${path}/webhooks`, hook)],
    ['a token', () => call('POST', `${path}/apitokens`, { name: 'late', privileges })],
    ['an invitation', () => call('POST', `${path}/invites`, { email: 'late@example.test', privileges })],
    ['a setting', () => call('PUT', `${path}/setting`, { ui_idle_timeout: 5 })],
    ['an SSO', () => call('POST', `${path}/ssos`, { name: 'Late' })],
    ['an upgrade', () => call('POST', `${path}/devices/upgrade`, { all_sites: true, versions: [{ version: '2' }] })],
  ]
  it.each(made)('is not created: %s', async (_name, make) => {
    const [gone, late] = await queueAtOrg([() => call('DELETE', path), make])
    expect(gone).toMatchObject({ status: 200 })
    expect(late).toMatchObject({ status: 404, body: { detail: 'Not found.' } })
  })

  it.each(made)('is deleted too if it was created first: %s', async (_name, make) => {
    const [first, gone] = await queueAtOrg([make, () => call('DELETE', path)])
    // An upgrade to a missing version is refused before or after.
    expect(first?.status === 200 || first?.body.detail.startsWith('Invalid')).toBe(true)
    // The first attempt may fail, because others lock other rows before the organization; the second one sees their
    // rows.
    if (gone?.status === 400) expect((await call('DELETE', path)).status).toBe(200)
    else expect(gone?.status).toBe(200)
    expect((await call('GET', path)).status).toBe(404)
  })

  it('does not change groups', async () => {
    const group = (await call('POST', `${path}/sitegroups`, { name: 'Early' })).body
    const regroup = () => call('PUT', `${path}/sitegroups/${group.id}`, { site_ids: [siteId] })
    const answers = await queueAtOrg([() => call('DELETE', path), regroup])
    expect(answers.map(({ status }) => status)).toEqual([200, 404])
  })

  it('is not claimed, or prevents the deletion', async () => {
    for (const claimFirst of [true, false]) {
      org = await server.addOrg('Raced')
      path = `/orgs/${org.orgId}`
      const [device] = await makeDevices(server.ctx, 1)
      const claim = () => call('POST', `${path}/inventory`, [device?.claim_code])
      const remove = () => call('DELETE', path)
      const answers = await queueAtOrg(claimFirst ? [claim, remove] : [remove, claim])
      expect(answers.map(({ status }) => status)).toEqual(claimFirst ? [200, 400] : [200, 404])
      if (!claimFirst) continue
      expect(answers[1]?.body).toMatchObject({ devices: 1 })
      expect((await call('GET', path)).status).toBe(200)
    }
  })
})

describe('an object created in a site while it is deleted', () => {
  async function addDevice(assigned: boolean): Promise<string> {
    const [device] = await makeDevices(server.ctx, 1)
    if (device === undefined) throw new Error('no device')
    await call('POST', `${path}/inventory`, [device.claim_code])
    if (assigned) await call('PUT', `${path}/inventory`, { op: 'assign', site_id: siteId, macs: [device.mac] })
    await connectDevice(server.ctx, device.mac)
    return device.mac
  }

  /** Locks the site's row until the first call waits for it, then the second one too. */
  async function queueAtSite(calls: readonly (() => Promise<Answer>)[]): Promise<Answer[]> {
    const running: Promise<Answer>[] = []
    await server.ctx.db.transaction().execute(async (tx) => {
      await tx.selectFrom('site').select('id').where('id', '=', siteId).forUpdate().execute()
      for (const start of calls) {
        running.push(start())
        await untilWaiting(server, running.length)
      }
    })
    return Promise.all(running)
  }

  it('is a device, which prevents the deletion, or finds no site', async () => {
    const mac = await addDevice(false)
    const assign = () => call('PUT', `${path}/inventory`, { op: 'assign', site_id: siteId, macs: [mac] })
    const remove = () => call('DELETE', `/sites/${siteId}`)
    const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status)
    expect(statuses(await queueAtSite([assign, remove]))).toEqual([200, 400])
    expect(await call('PUT', `${path}/inventory`, { op: 'unassign', macs: [mac] })).toMatchObject({ status: 200 })
    expect(statuses(await queueAtSite([remove, assign]))).toEqual([200, 404])
  })

  it('is an upgrade, which prevents the deletion, although its device is unassigned meanwhile', async () => {
    const mac = await addDevice(true)
    await server.call('POST', `${path}/firmware?version=2.0.0&models=AP45`, {
      as: org,
      body: 'an image',
      headers: { 'content-type': 'application/octet-stream' },
    })
    const upgrade = await call('POST', `${path}/devices/upgrade`, { all_sites: true, versions: [{ version: '2.0.0' }] })
    expect(upgrade).toMatchObject({ status: 200 })
    await call('PUT', `${path}/inventory`, { op: 'unassign', macs: [mac] })
    const remove = () => call('DELETE', `/sites/${siteId}`)
    expect(await remove()).toMatchObject({
      status: 400,
      body: { detail: 'The site still has 1 running upgrade (cancel, or wait for the end)', upgrades: 1 },
    })
    // The rollout engine would record the end.
    await server.ctx.db
      .updateTable('siteUpgrade')
      .set({ finishedAt: new Date() })
      .where('siteId', '=', siteId)
      .execute()
    expect(await remove()).toMatchObject({ status: 200 })
    // The upgrade's record is kept.
    const record = await call('GET', `${path}/devices/upgrade/${upgrade.body.id}`)
    expect(record.body.upgrades).toMatchObject([{ site_id: siteId }])
  })

  const made: readonly [string, () => Promise<Answer>, 'org' | 'site'][] = [
    ['a webhook', () => call('POST', `/sites/${siteId}/webhooks`, hook), 'site'],
    ['a setting', () => call('PUT', `/sites/${siteId}/setting`, { vars: {} }), 'site'],
    [
      'a token',
      () => {
        const privilege = { scope: 'site', role: 'read', site_id: siteId }
        return call('POST', `${path}/apitokens`, { name: 'late', privileges: [privilege] })
      },
      'org',
    ],
  ]
  it.each(made)('never outlives the site: %s', async (_name, make, place) => {
    const meet = place === 'org' ? queueAtOrg : queueAtSite
    for (const removeFirst of [true, false]) {
      siteId = await addSite(server, 'Raced', org)
      const remove = () => call('DELETE', `/sites/${siteId}`)
      const answers = await meet(removeFirst ? [remove, make] : [make, remove])
      const [removed, created] = removeFirst ? answers : answers.toReversed()
      expect(created?.status).toBe(removeFirst ? 404 : 200)
      // The first attempt may fail, because others lock other rows before the organization; the second one sees their
      // rows.
      if (removed?.status === 400) expect((await remove()).status).toBe(200)
      else expect(removed?.status).toBe(200)
      expect((await call('GET', `${path}/apitokens`)).body).toEqual([])
      const { db } = server.ctx
      for (const table of ['webhook', 'siteSetting'] as const)
        expect(await db.selectFrom(table).select('orgId').where('siteId', '=', siteId).execute()).toEqual([])
    }
  })
})
