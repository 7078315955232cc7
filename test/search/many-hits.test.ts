import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deviceIdOf } from '../../src/devices/device.ts'
import { foldValueCounts } from '../../src/devices/store-value-counts.ts'
import { recordEnds } from '../support/fleets/record.ts'
import { claimNewDevice, claimNewDevices, connectDevice } from '../support/fleets/devices.ts'
import { seedOrg } from '../support/fleets/fleet.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'

/** With this number, a page of one device is read in the order of the list, and a page of all is gathered. */
const DEVICES = 700

let server: TestServer
beforeAll(async () => {
  server = await startTestServer(undefined, { requestsPerHour: 1_000_000 })
  const { ctx, org } = server
  await seedOrg(ctx, [{ devices: DEVICES }], org.orgId)
  await sql`update device_status status set connected = place % 2 = 0, firmware = '1.' || place % 5, booted_at = created_at,
      load = case when place % 7 < 2 then jsonb_build_object('ip', '10.0.' || place % 3 || '.' || place / 250) end,
      members = case when place % 100 = 0 then jsonb_build_array(1, 2) end,
      disconnected_at = case when place % 2 = 1 then created_at end
    from (select device.*, row_number() over (order by id) as place from device) as device
    where status.device_id = device.id`.execute(ctx.db)
  await sql`insert into device_summary (org_id, device_id, type, band5_channel, lldp_system_name, lldp_mgmt_addr, report_bytes)
    select org_id, id, type, 36, 'core-' || right(mac, 1), case when place > 350 then '10.9.0.1' end, 4096
    from (select device.*, row_number() over (order by id) as place from device) as device`.execute(ctx.db)
})
afterAll(() => server.close())

async function macsOf(query: string): Promise<{ macs: string[]; total: number }> {
  const { status, body } = await server.call('GET', `/orgs/${server.org.orgId}/${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return { macs: body.results.map(({ mac }: { mac: string }) => mac), total: body.total }
}

test.each([
  'devices/search?hostname=*',
  'devices/search?version=1.*',
  'devices/search?version=1.*&sort=mac',
  'devices/search?version=1.*&sort=-version',
  'devices/search?band_5_channel=36',
  'devices/search?lldp_system_name=core*&sort=timestamp',
  'devices/search?lldp_system_name=*ore*&sort=-lldp_system_name',
  'devices/search?mac=0*&sort=-model',
  'inventory/search?magic=*&type=all',
  'devices/search?sort=ext_ip',
  'devices/search?sort=-ip',
  'devices/search?sort=-band_6_channel',
  'devices/search?sort=-uptime',
  'devices/search?sort=-name&type=all',
  'devices/search?sort=managed',
  'devices/search?sort=-clustered',
  'devices/search?sort=mxtunnel_status&type=all',
  'inventory/search?sort=-vc_mac&type=all',
  'inventory/search?sort=status&version=1.*',
  'inventory/search?sort=-status',
  'inventory/search?sort=status&status=connected',
  'inventory/search?status=connected',
  'inventory/search?status=connected&sort=-version',
  'inventory/search?status=connected&version=1.*',
  'inventory/search?status=connected&version=1.*&sort=-name',
  'inventory/search?status=connected,disconnected&version=1.*&type=all',
  'inventory/search?status=connected&version=1.*&name=device',
  'inventory/search?status=disconnected',
  'inventory/search?status=disconnected&version=1.*&sort=name',
  'inventory/search?disconnected_before=99999999999&status=disconnected&sort=mac',
  'devices/search?version=1.*&band_5_channel=36',
  'devices/search?version=1.*&sort=ip',
  'devices/search?version=1.*&hostname=*&sort=-lldp_port_id',
  // Most hits are behind those with an address, or at the end of the order.
  'devices/search?lldp_system_name=core*&sort=ip',
  'devices/search?lldp_mgmt_addr=10.9.*&sort=mac',
])('many hits of %s are on the same pages as if there were few', async (query) => {
  const all = await macsOf(`${query}&limit=1000`)
  expect(all.total).toBe(all.macs.length)
  const places = all.total === 0 ? [] : [1, 2, 5, all.total / 2, all.total / 2 + 2, all.total - 1, all.total]
  for (const page of places)
    expect(await macsOf(`${query}&limit=1&page=${page}`), `page ${page}`).toEqual({
      macs: all.macs.slice(page - 1, page),
      total: all.total,
    })
  expect(await macsOf(`${query}&limit=1&page=${all.total + 1}`)).toEqual({ macs: [], total: all.total })
})

test('searches by connection follow connects, disconnects and claims', async () => {
  const device = await claimNewDevice(server, { model: 'AP77' })
  const mac = device.mac
  const found = async (query: string): Promise<boolean> =>
    (await macsOf(`inventory/search?model=AP77&${query}`)).macs.includes(mac)
  const state = async () => [
    await found('status=connected'),
    await found('status=disconnected'),
    await found('disconnected_before=99999999999'),
  ]
  expect(await state()).toEqual([false, true, false])
  const session = await connectDevice(server.ctx, mac, { firmware: '7.1' })
  expect(await state()).toEqual([true, false, false])
  await recordEnds(server.ctx, [session])
  expect(await state()).toEqual([false, true, true])
  await connectDevice(server.ctx, mac, { firmware: '7.1' })
  expect(await state()).toEqual([true, false, false])
  const { rows } = await sql<{ type: string }>`
    select type from device_version where device_id = ${deviceIdOf(mac)}`.execute(server.ctx.db)
  expect(rows).toEqual([{ type: 'ap' }])
})

test('a sort by uptime has disconnected devices last, in either direction', async () => {
  const devices = await claimNewDevices(server, 3, { model: 'AP76' })
  const [first, last, down] = devices.map(({ mac }) => mac)
  const sessions = []
  for (const { mac } of devices) sessions.push(await connectDevice(server.ctx, mac, { firmware: '7.1' }))
  for (const [minutes, mac] of [
    [30, first],
    [20, down],
    [10, last],
  ] as const)
    await sql`update device_status set booted_at = now() - ${minutes} * interval '1 minute'
      where device_id = ${deviceIdOf(mac ?? '')}`.execute(server.ctx.db)
  await recordEnds(server.ctx, sessions.slice(2))
  expect((await macsOf('devices/search?model=AP76&sort=uptime')).macs).toEqual([last, first, down])
  expect((await macsOf('devices/search?model=AP76&sort=-uptime')).macs).toEqual([first, last, down])
  const all = await macsOf('devices/search?sort=-uptime&limit=1000')
  const of = (mac: string | undefined): number => all.macs.indexOf(mac ?? '')
  expect(of(first)).toBeLessThan(of(last))
  expect(of(last)).toBeLessThan(of(down))
})

/** The columns of the counted fields. */
const countedColumns = {
  status: 'connection.status',
  version: 'version.firmware',
  band_24_bandwidth: 'summary.band24_bandwidth',
  band_24_channel: 'summary.band24_channel',
  band_24_power: 'summary.band24_power',
  band_5_bandwidth: 'summary.band5_bandwidth',
  band_5_channel: 'summary.band5_channel',
  band_5_power: 'summary.band5_power',
  band_6_bandwidth: 'summary.band6_bandwidth',
  band_6_channel: 'summary.band6_channel',
  band_6_power: 'summary.band6_power',
  eth0_port_speed: 'summary.eth0_port_speed',
  lldp_mgmt_addr: 'summary.lldp_mgmt_addr',
  lldp_port_id: 'summary.lldp_port_id',
  lldp_system_desc: 'summary.lldp_system_desc',
  lldp_system_name: 'summary.lldp_system_name',
}

/** Asserts that the counters agree with the rows of the devices. */
async function expectCountedValues(when: string): Promise<void> {
  const { ctx } = server
  const values = Object.entries(countedColumns).map(([name, of]) => sql`(${name}, ${sql.ref(of)}::text)`)
  const { rows: had } = await sql`
    select device.org_id, field, device.type, value, count(*)::integer as count from device
      cross join lateral (
        select case when exists (select from device_status where device_id = device.id and connected)
          then 'connected' else 'disconnected' end as status) connection
      left join device_version version on version.device_id = device.id
      left join device_summary summary on summary.device_id = device.id
      cross join lateral (values ${sql.join(values)}) as had (field, value)
    where value is not null group by 1, 2, 3, 4 order by 1, 2, 3, 4`.execute(ctx.db)
  const { rows: counted } = await sql`
    select org_id, field, type, value, sum(count)::integer as count
    from (select * from device_value_count union all select * from device_value_delta) as known
    group by 1, 2, 3, 4 having sum(count) <> 0 order by 1, 2, 3, 4`.execute(ctx.db)
  expect(counted, when).toEqual(had)
}

async function countsOf(query: string): Promise<object[]> {
  const { body } = await server.call('GET', `/orgs/${server.org.orgId}/devices/count?${query}`)
  return body.results
}

test('parts of versions are found among the versions that devices have', async () => {
  const { ctx } = server
  const devices = await claimNewDevices(server, 3, { model: 'AP79' })
  for (const [index, firmware] of ['9.10-rc1', '9.20-rc1', '9.20'].entries())
    await connectDevice(ctx, devices[index]?.mac ?? '', { firmware })
  const search = (query: string) => macsOf(`devices/search?model=AP79&${query}`)
  expect(await search('version=*rc*')).toMatchObject({ total: 2 })
  expect(await search('version=*.20*')).toMatchObject({ total: 2 })
  expect(await search('version=*10-rc*,9.20')).toMatchObject({ total: 2 })
  expect(await search('version=*beta*')).toMatchObject({ total: 0 })
  await connectDevice(ctx, devices[0]?.mac ?? '', { firmware: '9.20' })
  expect(await search('version=*rc*')).toMatchObject({ total: 1 })
  expect(await macsOf('devices/search?version=*rc1')).toMatchObject({ total: 1 })
  const { rows } = await sql`insert into device_value_count (org_id, field, type, value, count)
    select ${server.org.orgId}, 'version', 'ap', '9.99.' || n, 1 from generate_series(1, 501) n returning value`.execute(
    ctx.db,
  )
  expect(await search('version=*9.*')).toMatchObject({ total: 3 })
  await sql`delete from device_value_count where value = any(${rows.map((row) => (row as { value: string }).value)})`.execute(
    ctx.db,
  )
})

test('values are counted whatever writes them, before and after their changes are folded', async () => {
  const { ctx } = server
  const fold = (): Promise<void> => foldValueCounts(ctx, new AbortController().signal)
  const devices = await claimNewDevices(server, 3, { model: 'AP78' })
  const [first, second, third] = devices.map(({ mac }) => deviceIdOf(mac))
  await connectDevice(ctx, devices[0]?.mac ?? '', { firmware: '8.1' })
  await connectDevice(ctx, devices[1]?.mac ?? '', { firmware: '8.1' })
  await sql`insert into device_summary (org_id, device_id, type, band24_channel, eth0_port_speed, lldp_system_name, report_bytes)
    select org_id, id, type, 9, 2500, 'edge-' || right(mac, 2), 4096 from device where id = any(${[first, second, third]})
  `.execute(ctx.db)
  await expectCountedValues('new')
  expect(await countsOf('distinct=version&version=8.*')).toEqual([{ version: '8.1', count: 2 }])
  await fold()
  await expectCountedValues('folded')
  expect(await countsOf('distinct=version&version=8.*')).toEqual([{ version: '8.1', count: 2 }])
  expect(await macsOf('devices/search?band_24_channel=9')).toMatchObject({ total: 3 })
  await connectDevice(ctx, devices[0]?.mac ?? '', { firmware: '8.2' })
  await sql`update device_summary set band24_channel = case device_id when ${first} then 10 end where band24_channel = 9
    and device_id <> ${third}`.execute(ctx.db)
  await sql`delete from device where id = ${third}`.execute(ctx.db)
  await expectCountedValues('changed')
  expect(await macsOf('devices/search?version=8.*')).toMatchObject({ total: 2 })
  expect(await macsOf('devices/search?band_24_channel=9,10')).toMatchObject({ total: 1 })
  const versions = (await countsOf('distinct=version')).filter(
    (row) => 'version' in row && String(row.version).startsWith('8'),
  )
  expect(versions).toEqual([
    { version: '8.1', count: 1 },
    { version: '8.2', count: 1 },
  ])
  await fold()
  await expectCountedValues('folded again')
  const { rows } = await sql`select from device_value_count where count = 0 union all select from device_value_delta
    `.execute(ctx.db)
  expect(rows).toEqual([])
  // One statement deletes a connected device, and one that never was.
  const [known, unknown] = await claimNewDevices(server, 2, { model: 'AP75' })
  const gone = [known?.mac ?? '', unknown?.mac ?? ''].map(deviceIdOf)
  await connectDevice(ctx, known?.mac ?? '', { firmware: '8.4' })
  const disconnected = async () =>
    (await sql`select from device_disconnection where device_id = any(${gone})`.execute(ctx.db)).rows.length
  expect(await disconnected()).toBe(1)
  await sql`delete from device where id = any(${gone})`.execute(ctx.db)
  await expectCountedValues('deleted')
  expect(await disconnected()).toBe(0)
  await fold()
  // One statement changes devices in different ways, and one of them not at all.
  await sql`update device_status set connected = device_id <> ${first}, disconnected_at = now(),
    firmware = case when device_id = ${first} then '8.3' else firmware end where device_id = any(${[first, second]})
  `.execute(ctx.db)
  await expectCountedValues('changed together')
  await sql`update device_status set firmware = null where device_id = ${second}`.execute(ctx.db)
  await expectCountedValues('without a version')
})
