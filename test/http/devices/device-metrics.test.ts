import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { olsSwitch } from '../../../src/gateway/ucentral/state/samples.ts'
import {
  type MadeDevice,
  addSite,
  claimNewDevice,
  claimNewDevices,
  connectDevice,
  reportState,
} from '../../support/fleets/devices.ts'
import { type Answer, type TestServer, startTestServer } from '../../support/servers/server.ts'

let server: TestServer
let siteId: string
let accessPoint: MadeDevice
/** The first one has reported its ports. */
let switches: MadeDevice[]

beforeAll(async () => {
  server = await startTestServer()
  siteId = await addSite(server)
  accessPoint = await claimNewDevice(server, { siteId })
  await connectDevice(server.ctx, accessPoint.mac)
  switches = await claimNewDevices(server, 3, { siteId, model: 'EX4100-48P' })
  for (const [index, { mac }] of switches.entries()) {
    const session = await connectDevice(server.ctx, mac, { type: 'switch', firmware: index === 0 ? '2.0' : '1.0' })
    if (index === 0) await reportState(server, session, { state: olsSwitch, uptime: 100 })
  }
})
afterAll(() => server.close())

const site = (path: string): Promise<Answer> => server.call('GET', `/sites/${siteId}/${path}`)

describe('metrics', () => {
  it('of switches follow from ports and versions', async () => {
    const active = {
      details: { active_port_count: 2, total_port_count: 3 },
      score: 66,
      total_switch_count: 1,
    }
    const major = { model: 'EX4100-48P', major_version: '1.0', major_count: 2, system_names: [switches[0]?.mac] }
    expect((await site('stats/switches/metrics')).body).toEqual({
      active_ports_summary: active,
      version_compliance: { details: { major_versions: [major] }, score: 66, total_switch_count: 3 },
    })
    const ofType = '?type=active_ports_summary'
    expect((await site(`stats/switches/metrics${ofType}`)).body).toEqual({ active_ports_summary: active })
    const ofOne = `${ofType}&scope=switch&switch_mac=`
    expect((await site(`stats/switches/metrics${ofOne}${switches[0]?.mac}`)).body).toEqual({
      active_ports_summary: active,
    })
    expect((await site(`stats/switches/metrics${ofOne}${switches[1]?.mac}`)).body).toEqual({})
  })

  it.each([
    ['scope=switch', 'Invalid field switch_mac: is required for the scope `switch`'],
    ['scope=switch&switch_mac=core', 'Invalid field switch_mac: "core" is not a MAC address'],
    ['switch_mac=020000000001', 'Invalid field switch_mac: is allowed only with the scope `switch`'],
    ['type=config_success', 'type'],
  ])('refuse %s', async (query, detail) => {
    const { status, body } = await site(`stats/switches/metrics?${query}`)
    expect([status, body.detail]).toEqual([400, expect.stringContaining(detail)])
  })

  it('are not found for a MAC that is not a switch of the site', async () => {
    for (const mac of ['0c0c0c0c0c0c', accessPoint.mac])
      expect((await site(`stats/switches/metrics?scope=switch&switch_mac=${mac}`)).status).toBe(404)
  })

  it('of gateways follow from versions, and are left out where there is no gateway', async () => {
    expect((await site('stats/gateways/metrics')).body).toEqual({})
    const [first, second] = await claimNewDevices(server, 2, { siteId, model: 'SRX300' })
    if (first === undefined || second === undefined) throw new Error('no gateways')
    for (const [device, firmware] of [
      [first, '22.4'],
      [second, '22.4'],
    ] as const)
      await connectDevice(server.ctx, device.mac, { type: 'gateway', firmware })
    expect((await site('stats/gateways/metrics')).body).toEqual({
      version_compliance: {
        type: 'gateway',
        score: 100,
        major_version: { SRX300: { major_version: '22.4', major_count: 2 } },
      },
    })
  })
})

describe('the success of configurations', () => {
  const configure = (device: MadeDevice | undefined, load: object) =>
    server.ctx.db
      .updateTable('deviceStatus')
      .set({ load: JSON.stringify(load) })
      .where('deviceId', '=', device?.id ?? '')
      .execute()

  it('counts the switches that have applied the newest one that they received', async () => {
    const [first, second, third] = switches
    await configure(first, { config_version: 0, config_latest: 0 })
    expect((await site('stats/switches/metrics')).body).not.toHaveProperty('config_success')
    await configure(first, { config_version: 5 })
    await configure(second, { config_version: 4, config_latest: 5 })
    await configure(third, { config_version: 5, config_latest: 5 })
    expect((await site('stats/switches/metrics')).body.config_success).toEqual({
      details: { config_success_count: 2 },
      score: 66,
      total_switch_count: 3,
    })
    const ofOne = `stats/switches/metrics?scope=switch&switch_mac=${second?.mac}`
    expect((await site(ofOne)).body.config_success).toMatchObject({ score: 0, total_switch_count: 1 })
  })

  it('is a percentage of the gateways', async () => {
    const [first, second] = await claimNewDevices(server, 2, { siteId, model: 'SRX300' })
    await connectDevice(server.ctx, first?.mac ?? '', { type: 'gateway' })
    await connectDevice(server.ctx, second?.mac ?? '', { type: 'gateway' })
    await configure(first, { config_version: 7, config_latest: 8 })
    expect((await site('stats/gateways/metrics')).body.config_success).toBe(0)
    await configure(second, { config_version: 9, config_latest: 8 })
    expect((await site('stats/gateways/metrics')).body.config_success).toBe(50)
  })
})

describe('metrics of many switches', () => {
  it('name at most 1000 of those that run another version', async () => {
    const otherId = await addSite(server, 'Large')
    const { db } = server.ctx
    const orgId = sql`${server.org.orgId}::uuid`
    const mac = sql`'eeeeeeee' || lpad(to_hex(n), 4, '0')`
    const id = sql`('00000000-0000-0000-1000-' || ${mac})::uuid`
    const all = sql`generate_series(1, 2101) n`
    await sql`insert into device_registry (org_id, id, mac, serial, model, type, claim_code, created_at)
      select ${orgId}, ${id}, ${mac}, ${mac}, 'EX4100-48P', 'switch', ${mac}, now() from ${all}`.execute(db)
    await sql`insert into device (org_id, site_id, id, mac, serial, model, type, claim_code, created_at, modified_at, doc)
      select ${orgId}, ${otherId}::uuid, ${id}, ${mac}, ${mac}, 'EX4100-48P', 'switch', ${mac}, now(), now(), '{}' from ${all}`.execute(
      db,
    )
    await sql`update device_status set firmware = case when n <= 1050 then '1.0' else '2.0' end
      from ${all} where device_id = ${id}`.execute(db)
    await sql`insert into device_status (org_id, device_id, connected, firmware)
      select ${orgId}, ${id}, true, case when n <= 1050 then '1.0' else '2.0' end from ${all}
      on conflict do nothing`.execute(db)
    const { body } = await server.call('GET', `/sites/${otherId}/stats/switches/metrics`)
    const { details, ...summary } = body.version_compliance
    expect(summary).toEqual({ score: 50, total_switch_count: 2101 })
    expect(details.major_versions).toMatchObject([{ major_version: '2.0', major_count: 1051 }])
    const names: string[] = details.major_versions[0].system_names
    expect(names).toHaveLength(1000)
    expect([names[0], names[999]]).toEqual(['eeeeeeee0001', 'eeeeeeee03e8'])
  })
})
