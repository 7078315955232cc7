import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventText } from '../../../src/events/store-audit-event.ts'
import type { AnyJson } from '../../support/contract/any-json.ts'
import { addSite, claimNewDevices, connectDevice, makeDevices } from '../../support/fleets/devices.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'
import { listenTo } from '../../support/peers/webhooks.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
  await listenTo(server, 'audits')
})
afterAll(() => server.close())

async function lastAudit(): Promise<AnyJson> {
  const { rows } = await sql<{ json: string }>`
    select ${eventText('o')} as json from webhook_outbox o where topic = 'audits' order by id desc limit 1
  `.execute(server.ctx.db)
  return JSON.parse(rows[0]?.json ?? 'null')
}

it('an audits event names its site and its device, and has neither where there is none', async () => {
  const siteId = await addSite(server)
  expect(await lastAudit()).toMatchObject({ message: 'Add Site "Here"', site_id: siteId })
  expect(await lastAudit()).not.toHaveProperty('device_id')
  const [device] = await makeDevices(server.ctx, 1)
  const { id, mac, claim_code } = device ?? { id: '', mac: '', claim_code: '' }
  await connectDevice(server.ctx, mac)
  const inventory = `/orgs/${server.org.orgId}/inventory`
  const one = `/sites/${siteId}/devices/${id}`
  const ofSite = { site_id: siteId, site_name: 'Here', device_id: id }
  const changes = [
    ['POST', inventory, [claim_code], { message: `Claim device ${mac}`, device_id: id }],
    ['PUT', inventory, { op: 'assign', site_id: siteId, macs: [mac] }, ofSite],
    ['PUT', one, { name: 'Hall' }, { message: 'Update device Hall', ...ofSite }],
    ['POST', `${one}/restart`, {}, { message: 'Restart device Hall', ...ofSite }],
    ['PUT', inventory, { op: 'delete', macs: [mac] }, { message: `Unclaim device ${mac}`, device_id: id }],
  ] as const
  for (const [method, path, body, event] of changes) {
    expect((await server.call(method, path, { body })).status, path).toBe(200)
    const audit = await lastAudit()
    expect(audit).toMatchObject(event)
    expect('site_id' in audit).toBe('site_id' in event)
  }
  const renamed = await server.call('PUT', `/sites/${siteId}`, { body: { name: 'There' } })
  expect(renamed.status).toBe(200)
  expect(await lastAudit()).toMatchObject({ site_id: siteId, site_name: 'There' })
  await server.call('DELETE', `/sites/${siteId}`)
  expect(await lastAudit()).toMatchObject({ message: 'Delete Site "There"', site_id: siteId, site_name: 'There' })
  const logs = await server.call('GET', `/orgs/${server.org.orgId}/logs?site_id=${siteId}&sort=timestamp`)
  const restarted = logs.body.results.find(({ message }: { message: string }) => message === 'Restart device Hall')
  expect(restarted.device_id).toBe(id)
  const names = logs.body.results.map(({ site_name: name }: { site_name?: string }) => name)
  expect([names[0], names.at(-1)]).toEqual(['Here', 'There'])
  await claimNewDevices(server, 2)
  expect(await lastAudit()).toMatchObject({ message: 'Claim 2 devices' })
  for (const absent of ['site_id', 'site_name', 'device_id']) expect(await lastAudit()).not.toHaveProperty(absent)
})
