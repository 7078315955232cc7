import { sql } from 'kysely'
import pg from 'pg'
import { beforeAll, expect, test, vi } from 'vitest'
import { deviceIdOf } from '../../../src/devices/device.ts'
import type { Telemetry } from '../../../src/devices/telemetry/telemetry.ts'
import { createReports } from '../../../src/gateway/reports.ts'
import { inTx, openDb } from '../../../src/platform/database/db.ts'
import { type GatewayHarness, createGatewayHarness, newMac } from '../harness.ts'

let harness: GatewayHarness
beforeAll(async () => {
  harness = await createGatewayHarness()
})

const reportOf = (mac: string, sanity: number) => ({
  deviceId: deviceIdOf(mac),
  epoch: '0',
  load: { sanity_percent: sanity },
  uptimeS: null,
  boot: null,
  firmware: null,
  telemetry: null,
})

test('a device with 32 unwritten reports must wait until they are written; others need not', async () => {
  const [busy, other] = [newMac(), newMac()]
  await harness.claim(busy)
  await harness.claim(other)
  const reports = createReports(harness.ctx, 10)
  let waiting: Promise<void> | undefined
  await inTx(harness.ctx, async (tx) => {
    await tx.selectFrom('deviceStatus').select('epoch').where('deviceId', '=', deviceIdOf(busy)).forUpdate().execute()
    for (let sanity = 1; sanity < 32; sanity += 1) expect(reports.add(reportOf(busy, sanity))).toBeUndefined()
    waiting = reports.add(reportOf(busy, 32))
    expect(waiting).toBeInstanceOf(Promise)
    expect(reports.add(reportOf(other, 1))).toBeUndefined()
    expect((await harness.status(busy)).load).toBeNull()
  })
  await waiting
  expect((await harness.status(busy)).load).toEqual({ sanity_percent: 32 })
  expect(reports.add(reportOf(busy, 33))).toBeUndefined()
  await reports.idle()
})

/** A report of about 160 kB. */
const largeReportOf = (mac: string) => {
  const wired = Array.from({ length: 2048 }, (_, i) => ({
    mac: i.toString(16).padStart(12, '0'),
    port: 'Ethernet1',
    vlan: 1000,
    ip: '192.168.100.100',
  }))
  const telemetry: Telemetry = {
    unit: {},
    radios: [],
    ports: [],
    interfaces: [],
    neighbors: [],
    wireless: [],
    wired,
  }
  return { ...reportOf(mac, 1), telemetry }
}

test('devices must wait while 32 MiB of telemetry are unwritten, and a transaction writes 4 MiB at most', async () => {
  const macs = Array.from({ length: 40 }, newMac)
  for (const mac of macs) await harness.claim(mac)
  const [busy = '', other = ''] = macs
  const bytes = JSON.stringify(largeReportOf(busy).telemetry).length
  const rounds = Math.ceil((32 * 1024 * 1024) / bytes / macs.length)
  const reports = createReports(harness.ctx, 200)
  let waiting: Promise<void> | undefined
  await inTx(harness.ctx, async (tx) => {
    await tx.selectFrom('deviceStatus').select('epoch').where('deviceId', '=', deviceIdOf(busy)).forUpdate().execute()
    expect(reports.add(largeReportOf(busy))).toBeUndefined()
    for (let round = 0; round < rounds; round += 1) for (const mac of macs) void reports.add(largeReportOf(mac))
    waiting = reports.add(reportOf(other, 7))
    expect(waiting).toBeInstanceOf(Promise)
  })
  await waiting
  await reports.idle()
  expect((await harness.status(other)).load).toEqual({ sanity_percent: 7 })
  expect(reports.add(reportOf(other, 8))).toBeUndefined()
  await reports.idle()
  const { rows } = await sql<{ count: number }>`select count(*)::integer as count from device_report
    where device_id = any(${macs.map(deviceIdOf)}) group by xmin`.execute(harness.ctx.db)
  expect(rows.length).toBeGreaterThan(1)
  for (const { count } of rows) expect(count * bytes).toBeLessThanOrEqual(4 * 1024 * 1024)
})

test('while the database does not answer, only the first of many lost reports is a warning', async () => {
  const pool = new pg.Pool({ host: '/nonexistent' })
  const warn = vi.spyOn(harness.ctx.log, 'warn')
  const reports = createReports({ ...harness.ctx, db: openDb(pool, harness.ctx.secrets) }, 1)
  for (const mac of [newMac(), newMac(), newMac()]) void reports.add(reportOf(mac, 1))
  await reports.idle()
  const lost = warn.mock.calls.filter((call) => (call as unknown[]).includes('a report of a device was lost'))
  expect(lost).toHaveLength(1)
  await pool.end()
})
