import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MadeDevice, addSite, claimNewDevice } from '../../../support/fleets/devices.ts'
import { addPerson } from '../../../support/people.ts'
import { listenTo } from '../../../support/peers/webhooks.ts'
import { type TestOrg, type TestServer, startTestServer } from '../../../support/servers/server.ts'

let server: TestServer
let siteId: string
let device: MadeDevice
let code: string
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server, 'Here')
  device = await claimNewDevice(server, { siteId })
  code = device.claim_code
})
afterAll(() => server.close())

const org = (path: string, as?: TestOrg) =>
  server.call('GET', `/orgs/${server.org.orgId}/${path}`, as === undefined ? {} : { as })
const site = (path: string) => server.call('GET', `/sites/${siteId}/${path}`)

/** Roles that read the device, and whether they may claim it. */
const roles = [
  ['an administrator', [{ scope: 'org', role: 'admin' }], true],
  ['a writer', [{ scope: 'org', role: 'write' }], true],
  ['a reader', [{ scope: 'org', role: 'read' }], false],
  ['a help desk', [{ scope: 'org', role: 'helpdesk' }], false],
  ['a writer of a site', [{ scope: 'site', role: 'write' }], false],
  [
    'a reader who may write at a site',
    [
      { scope: 'org', role: 'read' },
      { scope: 'site', role: 'write' },
    ],
    false,
  ],
] as const

describe.each(roles)('the claim code of a device: %s', (_who, privileges, sees) => {
  let as: TestOrg
  beforeAll(async () => {
    as = await addPerson(
      server,
      privileges.map((privilege) => (privilege.scope === 'site' ? { ...privilege, site_id: siteId } : privilege)),
    )
  })

  it(`${sees ? 'sees' : 'does not see'} it in the inventory`, async () => {
    for (const query of ['', '?vc=true', `?mac=${device.mac}`]) {
      const { status, body } = await org(`inventory${query}`, as)
      expect([status, body]).toMatchObject([200, [{ mac: device.mac, serial: device.serial }]])
      if (sees) expect(body[0].magic, query).toBe(code)
      else expect(body[0], query).not.toHaveProperty('magic')
    }
  })

  it(`${sees ? 'finds' : 'does not find'} the device by it`, async () => {
    for (const magic of [code, `${code.slice(0, 3)}*`, '*', `WRONG,${code}`]) {
      const { status, body } = await org(`inventory/search?magic=${magic}`, as)
      if (sees) expect([status, body.results]).toMatchObject([200, [{ mac: device.mac }]])
      else expect([status, body.detail], magic).toEqual([403, expect.stringMatching(/^magic: /)])
    }
    // Clients send all parameters; an empty one filters nothing.
    expect((await org('inventory/search?magic=&text=', as)).body.total).toBe(1)
    expect((await org(`inventory/search?text=${code}`, as)).body.total).toBe(0)
  })
})

it('claim codes stay visible to writers of an organization that hides its secrets', async () => {
  const setting = `/orgs/${server.org.orgId}/setting`
  await server.call('PUT', setting, { body: { api_policy: { no_reveal: true } } })
  expect((await org('inventory')).body).toMatchObject([{ magic: code }])
  await server.call('PUT', setting, { body: { api_policy: { no_reveal: false } } })
})

it('no other answer about a device contains its claim code, nor does a record', async () => {
  await listenTo(server, 'audits', 'device-events')
  const claimed = await claimNewDevice(server, { siteId })
  await server.call('PUT', `/sites/${siteId}/devices/${device.id}`, { body: { name: 'Named' } })
  const answers = await Promise.all([
    site('devices'),
    site(`devices/${device.id}`),
    site('stats/devices?type=all'),
    site(`stats/devices/${device.id}`),
    site('devices/export'),
    org('devices'),
    org('devices/search?type=all'),
    org('inventory/search?type=all'),
    org('inventory/count?distinct=model'),
    org('stats/devices?type=all'),
    org('devices/events/search'),
    org('logs'),
  ])
  const records = await Promise.all([
    server.ctx.db.selectFrom('auditLog').selectAll().execute(),
    server.ctx.db.selectFrom('deviceEvent').selectAll().execute(),
    server.ctx.db.selectFrom('webhookOutbox').selectAll().execute(),
  ])
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(records.map((rows) => rows.length > 0)).toEqual([true, true, true])
  const all = JSON.stringify([answers.map(({ body }) => body as unknown), records])
  for (const { mac, claim_code: hidden } of [device, claimed ?? device]) {
    expect(all).toContain(mac)
    expect(all).not.toContain(hidden)
  }
})
