import { expect, it } from 'vitest'
import { releaseDevices } from '../../support/fleets/device-upgrades.ts'
import { createUpgradesHarness } from './upgrades-harness.ts'

const harness = createUpgradesHarness()
const { post, get, call } = harness

it('a retry takes no device that has not failed or is in no upgrade, and changes nothing then', async () => {
  const { body } = await post({ all_sites: true })
  const [mac] = harness.macsOf(0)
  const refused = [
    [{ macs: [mac] }, `Invalid field macs.0: ${mac} has not failed, its state is scheduled`],
    [{ macs: ['5c5b35000000'] }, 'Invalid field macs.0: 5c5b35000000 is not a device of this upgrade'],
    [{ macs: ['router'] }, 'Invalid field macs.0: "router" is not a MAC address'],
    [{ macs: [] }, expect.stringMatching(/^Invalid field macs: /)],
    [{ mac: [mac] }, expect.stringMatching(/^Invalid field mac: /)],
  ] as const
  for (const [request, detail] of refused)
    expect(await call(body.id, 'retry', request)).toMatchObject({ status: 400, body: { detail } })
  expect(await call(body.id, 'retry')).toMatchObject({ status: 200, body: { retried: 0, skipped: [] } })
})

it('failed devices are retried, by any form of their MACs', async () => {
  const { body } = await post({ all_sites: true })
  const [first = '', second] = harness.macsOf(0)
  const { db } = harness.server.ctx
  const failed = { state: 'failed', reason: 'not_applied' } as const
  await db
    .updateTable('upgradeTarget')
    .set(failed)
    .where('mac', 'in', [first, second ?? ''])
    .execute()
  await releaseDevices(db)
  const colons = first.toUpperCase().replaceAll(/(..)(?!$)/g, '$1:')
  expect(await call(body.id, 'retry', { macs: [colons] })).toMatchObject({ status: 200, body: { retried: 1 } })
  expect(await call(body.id, 'retry')).toMatchObject({ status: 200, body: { retried: 1, skipped: [] } })
})

it.each([
  [{ max_in_flight: 0 }, 'max_in_flight'],
  [{ max_downloads: 1.5 }, 'max_downloads'],
  [{ max_downloads_per_site: '2' }, 'max_downloads_per_site'],
  [{ failure_budget: -1 }, 'failure_budget'],
  [{ strategy: 'canary', min_success_percentage: 101 }, 'min_success_percentage'],
  [{ strategy: 'big_bang', min_success_percentage: 90 }, 'min_success_percentage'],
])('%j is refused before anything is written', async (limits, field) => {
  const answer = await post({ all_sites: true, ...limits })
  expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringMatching(`^Invalid field ${field}: `) } })
  expect(await harness.rowsLeft()).toBe(0)
})

it('the devices of an upgrade are listed by page, state, site and cause, and each shows its commands and runs', async () => {
  const { body } = await post({ all_sites: true })
  const [first = '', second = ''] = harness.macsOf(0)
  const { db } = harness.server.ctx
  const failed = { state: 'failed', reason: 'not_applied' } as const
  await db.updateTable('upgradeTarget').set(failed).where('mac', 'in', [first]).execute()
  await releaseDevices(db)
  await db.updateTable('device').set({ name: 'Lobby' }).where('mac', '=', first).execute()
  const path = `/${body.id}/targets`
  const list = async (query = '') => (await get(`${path}${query}`)).body.map(({ mac }: { mac: string }) => mac)
  const all = [...harness.macsOf(0), ...harness.macsOf(1)]
  expect((await list()).toSorted()).toEqual(all.toSorted())
  expect([...(await list('?limit=3')), ...(await list('?limit=3&page=2'))]).toEqual(await list())
  expect(await list('?status=failed')).toEqual([first])
  expect((await list('?status=scheduled')).toSorted()).toEqual(all.filter((mac) => mac !== first).toSorted())
  expect((await list(`?site_id=${harness.siteId(1)}`)).toSorted()).toEqual(harness.macsOf(1).toSorted())
  expect(await list('?reason=not_*')).toEqual([first])
  expect((await get(`${path}?status=failed`)).body).toMatchObject([{ mac: first, name: 'Lobby' }])
  expect(await get(`${path}?status=lost`)).toMatchObject({ status: 400 })
  await call(body.id, 'retry')
  const { body: target } = await get(`${path}/${first.toUpperCase()}`)
  for (const separator of [':', '-'])
    expect((await get(`${path}/${first.match(/../g)?.join(separator)}`)).body).toEqual(target)
  expect(await get(`${path}/lobby`)).toMatchObject({
    status: 400,
    body: { detail: 'Invalid field device_mac: "lobby" is not a MAC address' },
  })
  expect(target).toMatchObject({
    mac: first,
    name: 'Lobby',
    site_id: harness.siteId(0),
    phase: 1,
    status: 'scheduled',
    run: 2,
    runs: [{ run: 1, reason: 'not_applied', retried_by: expect.any(String) }],
    commands: [],
  })
  expect((await get(`${path}/${second}`)).body).toMatchObject({ run: 1, runs: [], version: '2.0.0' })
  expect((await get(`${path}/5c5b35000000`)).status).toBe(404)
})

it('the report of an upgrade is JSON or CSV, of the organization or of one site', async () => {
  const { body } = await post({ all_sites: true })
  const path = `/${body.id}/report`
  const { status, body: report, headers } = await get(path)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(report).toMatchObject({
    upgrade_id: body.id,
    status: 'queued',
    total: 5,
    sites: [{ total: 3 }, { total: 2 }],
  })
  expect(report.devices).toHaveLength(5)
  const { server, admin } = harness
  const csv = await server.call('GET', `${harness.path}${path}`, { as: admin, headers: { accept: 'text/csv' } })
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const asked = await get(`${path}?format=csv`)
  expect(asked.body).toBe(csv.body)
  expect(asked.body.trimEnd().split('\r\n')).toHaveLength(6)
  expect(await get(`${path}?format=xml`)).toMatchObject({ status: 400 })
  expect((await get(`${path}?devices=false`)).body).toEqual({ ...report, devices: [] })
  expect((await get(`${path}?devices=true`)).body).toEqual(report)
  const { status: refused, body: refusal } = await get(`${path}?devices=false&format=csv`)
  expect([refused, refusal.detail]).toEqual([
    400,
    'Invalid field devices: is false, but a report as CSV has nothing but devices',
  ])
  expect(await get('/0193a1c0-0000-7000-8000-000000000001/report')).toMatchObject({ status: 404 })
  const [here, there] = body.upgrades
  const ofSite = (siteId: string) =>
    server.call('GET', `/sites/${siteId}/devices/upgrade/${here.upgrade.id}/report`, { as: admin })
  const { body: part } = await ofSite(here.site_id)
  expect(part).toMatchObject({
    upgrade_id: body.id,
    site_upgrade_id: here.upgrade.id,
    sites: [{ site_id: here.site_id }],
  })
  expect(part.devices).toHaveLength(part.total)
  expect(await ofSite(there.site_id)).toMatchObject({ status: 404 })
})

it('only the operator reads the metrics', async () => {
  await post({ all_sites: true })
  const { server, admin } = harness
  const headers = { authorization: 'Operator operator-key' }
  const { status, body, headers: answered } = await server.call('GET', '/operator/v1/metrics', { as: null, headers })
  expect(status).toBe(200)
  expect(answered.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  for (const name of ['signalbox_upgrade_devices', 'signalbox_webhooks'])
    expect(body).toContain(`# TYPE ${name} gauge\n`)
  expect(await server.call('GET', '/operator/v1/metrics', { as: admin })).toMatchObject({ status: 401 })
})
