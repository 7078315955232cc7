import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findInstallerSetting } from '../../../src/orgs/org-settings/store.ts'
import { documentText } from '../../../src/platform/sealing/document-column.ts'
import { systemScope } from '../../../src/access/scope.ts'
import { untilWaiting } from '../../support/database/until-waiting.ts'
import { addSite } from '../../support/fleets/devices.ts'
import { addPerson } from '../../support/people.ts'
import { type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let siteId: string
let path: string
beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
  path = `/sites/${siteId}/setting`
})
afterAll(() => server.close())

const put = (body: unknown, of = path) => server.call('PUT', of, { body })
const ofOrg = () => `/orgs/${server.org.orgId}/setting`
const derived = async (as = server.org) => (await server.call('GET', `${path}/derived`, { as })).body

it('site settings have a maximum size', async () => {
  const siteId = await addSite(server, 'Full')
  const put = (body: unknown) => server.call('PUT', `/sites/${siteId}/setting`, { body })
  const long = 'x'.repeat(600_000)
  expect((await put({ vars: { long } })).status).toBe(200)
  expect(await put({ more: { long } })).toMatchObject({
    status: 413,
    body: { detail: expect.stringContaining('All fields together') },
  })
  expect((await server.call('GET', `/sites/${siteId}/setting`)).body).not.toHaveProperty('more')
  expect((await put({ '-vars': '' })).status).toBe(200)
})

describe('settings of a site', () => {
  it('are initially empty, and belong to the site', async () => {
    const identity = { id: siteId, org_id: server.org.orgId, site_id: siteId, for_site: true }
    expect((await server.call('GET', path)).body).toEqual(identity)
    expect(await derived()).toEqual(identity)
  })

  it('store and return each field that was set', async () => {
    const wide = { vars: { b: '1', a: '2' }, wifi: { enabled: false }, ssh_keys: ['b', 'a'], later: [null] }
    for (const other of [{ site_id: 'x' }, { for_site: false }, { org_id: 'y' }, { created_time: 1 }])
      expect((await put({ ...wide, ...other })).body.detail).toContain(`Invalid field ${Object.keys(other).join()}: `)
    const first = await put({ ...wide, site_id: siteId, for_site: true })
    expect(first.body).toMatchObject({ ...wide, site_id: siteId, for_site: true, org_id: server.org.orgId })
    expect(first.body.created_time).toBeGreaterThan(1)
    await put({ device_updown_threshold: 5 })
    expect((await server.call('GET', path)).body).toMatchObject({ ...wide, device_updown_threshold: 5 })
    await put({ '-device_updown_threshold': '', '-later': '' })
    const { body } = await server.call('GET', path)
    expect(Object.keys(body)).toEqual(expect.not.arrayContaining(['device_updown_threshold', 'later']))
  })

  it.each([
    [{ device_updown_threshold: 241 }],
    [{ device_updown_threshold: -1 }],
    [{ ap_updown_threshold: '5' }],
    [{ switch_updown_threshold: 1.5 }],
    [{ gateway_updown_threshold: true }],
  ])('refuse %j, like those of an organization', async (body) => {
    const before = await server.call('GET', path)
    for (const place of [path, ofOrg()]) {
      const answer = await put(body, place)
      expect(answer.status).toBe(400)
      expect(answer.body.detail).toContain(Object.keys(body)[0])
    }
    expect((await server.call('GET', path)).body).toEqual(before.body)
    expect((await put({ device_updown_threshold: null })).body.device_updown_threshold).toBeNull()
    await put({ '-device_updown_threshold': '' })
  })

  it('are changed by callers who may write in the site, and shown to those who may read', async () => {
    const writer = await addPerson(server, [{ scope: 'site', role: 'write', site_id: siteId }])
    const reader = await addPerson(server, [{ scope: 'site', role: 'read', site_id: siteId }])
    const elsewhere = await addPerson(server, [{ scope: 'site', role: 'write', site_id: await addSite(server, 'B') }])
    for (const [as, got, set] of [
      [writer, 200, 200],
      [reader, 200, 403],
      [elsewhere, 404, 404],
    ] as const) {
      expect((await server.call('GET', path, { as })).status).toBe(got)
      expect((await server.call('GET', `${path}/derived`, { as })).status).toBe(got)
      expect((await server.call('PUT', path, { as, body: { vars: {} } })).status).toBe(set)
    }
  })

  it('have audit records with the state before and after, without secrets', async () => {
    await put({ radius_config: { auth_servers: [{ host: 'r', secret: 'hunter2' }] } })
    const { body } = await server.call('GET', `/orgs/${server.org.orgId}/logs?limit=1`)
    expect(body.results[0]).toMatchObject({
      message: 'Update Site Settings "Here"',
      site_id: siteId,
      after: { radius_config: { auth_servers: [{ host: 'r' }] } },
    })
    expect(JSON.stringify(body)).not.toContain('hunter2')
  })
})

describe('the derived setting of a site', () => {
  it('combines its own fields with those of its organization, which it overrides', async () => {
    await put({ '-vars': '', '-wifi': '', '-ssh_keys': '', '-radius_config': '' })
    await put(
      {
        device_updown_threshold: 10,
        ap_updown_threshold: 20,
        switch_mgmt: { ap_affinity_threshold: 3 },
        ui_idle_timeout: 30,
        installer: { grace_period: 1 },
        unknown: 1,
      },
      ofOrg(),
    )
    await put({ ap_updown_threshold: 0, switch_mgmt: { cli_idle_timeout: 4 } })
    expect(await derived()).toMatchObject({
      site_id: siteId,
      device_updown_threshold: 10,
      ap_updown_threshold: 0,
      switch_mgmt: { cli_idle_timeout: 4 },
    })
    const shown = Object.keys(await derived())
    for (const own of ['ui_idle_timeout', 'installer', 'unknown']) expect(shown).not.toContain(own)
    const { body } = await server.call('GET', path)
    expect(body).not.toHaveProperty('device_updown_threshold')
  })

  it('hides secrets of the organization from callers who may write only in the site', async () => {
    await put({ mxedge_mgmt: { root_password: 'hunter2', fips_enabled: true } }, ofOrg())
    await put({ ssr: { conductor_token: 'hunter3' } })
    const writer = await addPerson(server, [{ scope: 'site', role: 'write', site_id: siteId }])
    const reader = await addPerson(server, [{ scope: 'org', role: 'read' }])
    const all = { mxedge_mgmt: { root_password: 'hunter2', fips_enabled: true }, ssr: { conductor_token: 'hunter3' } }
    expect(await derived()).toMatchObject(all)
    expect((await derived(writer)).mxedge_mgmt).toEqual({ fips_enabled: true })
    expect((await derived(writer)).ssr).toEqual(all.ssr)
    expect(JSON.stringify(await derived(reader))).not.toContain('hunter')
    expect(JSON.stringify((await server.call('GET', path, { as: reader })).body)).not.toContain('hunter')
    await put({ api_policy: { no_reveal: true } }, ofOrg())
    expect(JSON.stringify(await derived())).not.toContain('hunter')
    expect(JSON.stringify((await put({ vars: {} })).body)).not.toContain('hunter')
    expect((await put({ ssr: all.ssr })).body.ssr).toEqual(all.ssr)
    await put({ api_policy: { no_reveal: false } }, ofOrg())
  })
})

describe('settings that were stored before their fields were checked', () => {
  const stored = {
    auto_upgrade: { enabled: true, day_of_week: 'Sunday', time_of_day: '3 am' },
    switch: ['x'],
    ssr: { auto_upgrade: { enabled: false, channel: null, version: null } },
    juniper_srx: { auto_upgrade: { custom_versions: { SRX345: 1 } } },
    maintenance_windows: [{ start: '01:00', end: '01:00' }, null],
    device_updown_threshold: 999,
    api_policy: { src_ips: ['192.0.2.0/24'] },
  }

  it.each(['site', 'org'])('are accepted as they were read, and nothing else is: %s', async (owner) => {
    const siteId = await addSite(server, `Old ${owner}`)
    const { orgId } = server.org
    const [at, doc] = [new Date(), documentText(stored)]
    const row = { orgId, createdAt: at, modifiedAt: at, doc }
    const { db } = server.ctx
    if (owner === 'site')
      await db
        .insertInto('siteSetting')
        .values({ ...row, siteId })
        .execute()
    else await db.updateTable('orgSetting').set({ doc }).where('orgId', '=', orgId).execute()
    const path = owner === 'site' ? `/sites/${siteId}/setting` : ofOrg()
    const { body: read } = await server.call('GET', path)
    expect(await put({ ...read, ap_updown_threshold: 5 }, path)).toMatchObject({
      status: 200,
      body: { ...stored, ap_updown_threshold: 5 },
    })
    expect((await server.call('GET', path)).body).toMatchObject(stored)
    const { auto_upgrade: auto } = stored
    for (const [field, body] of [
      ['auto_upgrade.day_of_week', { ...read, auto_upgrade: { ...auto, enabled: false } }],
      ['auto_upgrade.version', { ...read, auto_upgrade: { ...auto, version: null } }],
      ['switch', { ...read, switch: ['y'] }],
      ['ssr.auto_upgrade.enabled', { ssr: { auto_upgrade: { enabled: null, channel: null } } }],
      ['maintenance_windows.0.end', { maintenance_windows: [{ start: '02:00', end: '02:00' }] }],
      ['ap_updown_threshold', { ...read, ap_updown_threshold: 999 }],
      ['api_policy.src_ips', { ...read, api_policy: { src_ips: ['192.0.2.0/25'] } }],
    ] as const) {
      if (field.startsWith('api_policy') && owner === 'site') continue
      const answer = await put(body, path)
      expect([answer.status, answer.body.detail]).toEqual([400, expect.stringContaining(`Invalid field ${field}: `)])
    }
    expect((await server.call('GET', path)).body).toMatchObject({ ...stored, ap_updown_threshold: 5 })
    // A null takes no effect, so the fields beside it may change.
    const ssr = { auto_upgrade: { ...stored.ssr.auto_upgrade, enabled: true } }
    expect((await put({ ...read, ssr }, path)).body.ssr).toEqual(ssr)
    await put(Object.fromEntries(Object.keys(stored).map((field) => [`-${field}`, ''])), path)
  })

  it('stay mended if another person mends them while a client sends them back', async () => {
    const at = `/sites/${await addSite(server, 'Mended')}/setting`
    await put({ switch: {} }, at)
    const [, , id = ''] = at.split('/')
    const { db } = server.ctx
    const doc = documentText(stored)
    await db.updateTable('siteSetting').set({ doc }).where('siteId', '=', id).execute()
    const { body: read } = await server.call('GET', at)
    let sending: ReturnType<typeof put> | undefined
    await db.transaction().execute(async (tx) => {
      await tx.selectFrom('site').select('id').where('id', '=', id).forUpdate().execute()
      sending = put({ ...read, ap_updown_threshold: 5 }, at)
      await untilWaiting(server, 1)
      const mended = documentText({ ...stored, switch: { later: 1 } })
      await tx.updateTable('siteSetting').set({ doc: mended }).where('siteId', '=', id).execute()
    })
    expect(await sending).toMatchObject({ status: 200, body: { switch: { later: 1 }, ap_updown_threshold: 5 } })
  })
})

describe('settings of an organization', () => {
  it('define which devices and sites installers may access', async () => {
    const scope = systemScope('operator', server.org.orgId)
    const { db } = server.ctx
    await put({ '-installer': '' }, ofOrg())
    const defaults = { allowAllDevices: false, allowAllSites: false, extraSiteIds: [], graceDays: 7 }
    expect(await findInstallerSetting(db, scope)).toEqual(defaults)
    const installer = { allow_all_sites: true, extra_site_ids: [siteId.toUpperCase()], grace_period: 0, later: 1 }
    expect((await put({ installer }, ofOrg())).body.installer).toEqual({ ...installer, extra_site_ids: [siteId] })
    expect(await findInstallerSetting(db, scope)).toEqual({
      ...defaults,
      allowAllSites: true,
      extraSiteIds: [siteId],
      graceDays: 0,
    })
  })

  it.each([
    [{ installer: { grace_period: -1 } }, 'installer.grace_period'],
    [{ installer: { grace_period: 1.5 } }, 'installer.grace_period'],
    [{ installer: { extra_site_ids: ['x'] } }, 'installer.extra_site_ids.0'],
    [{ installer: { allow_all_devices: 'yes' } }, 'installer.allow_all_devices'],
    [{ api_policy: { src_ips: ['192.0.2.0/24'] } }, 'api_policy.src_ips'],
  ])('refuse %j', async (body, field) => {
    const answer = await put(body, ofOrg())
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(`Invalid field ${field}: `) } })
  })
})
