import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Report, type ReportedStatus, decideReport } from './decide-report.ts'

const at = new Date('2026-11-20T12:00:00Z')
const time = { at, atMs: 5_000_000 }
const none: Report = { load: {}, uptimeS: null, boot: null, firmware: null, telemetry: null }
const known: ReportedStatus = {
  load: { cpu_percent: 3, uptime_s: 100 },
  bootCount: 7,
  bootedAt: null,
  bootKnownMs: 4_999_000,
  connectedAt: null,
  connectedMs: null,
}

describe('decideReport', () => {
  test('adds the fields of the report and keeps the others', () => {
    expect(decideReport(known, { ...none, load: { memory_free: 5 } }, time).load).toEqual({
      cpu_percent: 3,
      uptime_s: 100,
      memory_free: 5,
    })
  })

  test('treats a decreased uptime as a boot, which invalidates the old load', () => {
    const bootedAt = new Date(at.getTime() - 99_000)
    expect(decideReport(known, { ...none, uptimeS: 99 }, time)).toEqual({
      newBoot: { at: bootedAt, cause: null },
      bootCount: 8,
      load: { uptime_s: 99 },
      bootedAt,
      bootKnownMs: time.atMs,
      connectedAt: null,
      connectedMs: null,
    })
  })

  test('keeps the address across a boot, until another one is reported', () => {
    const status = { ...known, load: { ...known.load, ip: '10.0.0.5' } }
    const after = decideReport(status, { ...none, uptimeS: 99 }, time)
    expect(after.load).toEqual({ ip: '10.0.0.5', uptime_s: 99 })
    expect(decideReport(after, { ...none, uptimeS: 9, load: { ip: '10.0.0.6' } }, time).load).toEqual({
      ip: '10.0.0.6',
      uptime_s: 9,
    })
  })

  test('forgets the address once the device reports that it has none', () => {
    const status = { ...known, load: { cpu_percent: 3, ip: '10.0.0.5' } }
    expect(decideReport(status, { ...none, load: { ip: null, memory_free: 5 } }, time).load).toEqual({
      cpu_percent: 3,
      memory_free: 5,
    })
    expect(decideReport(known, { ...none, load: { ip: null } }, time).load).toEqual(known.load)
  })

  test('drops the old load after a boot that the device reports, and uses the reported time', () => {
    const connectedAt = new Date(at.getTime() - 2000)
    const status = { ...known, bootedAt: new Date(at.getTime() - 500_000), connectedAt }
    const boot = { atS: at.getTime() / 1000 - 60, cause: 'powerloss' }
    const bootedAt = new Date(at.getTime() - 60_000)
    const after = decideReport(status, { ...none, boot }, time)
    expect(after).toMatchObject({ newBoot: { at: bootedAt, cause: 'powerloss' }, bootCount: 8, load: {}, bootedAt })
    expect(decideReport(after, { ...none, uptimeS: 61 }, time).bootCount).toBe(8)
  })

  test('never treats increasing uptimes as a boot, however many', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100_000)), (steps) => {
        let uptimeS = 0
        let status: ReportedStatus = { ...known, load: null }
        for (const step of steps) {
          uptimeS += step
          status = decideReport(status, { ...none, uptimeS }, time)
        }
        expect(status.bootCount).toBe(7)
      }),
    )
  })

  test('treats a report without uptime as no evidence', () => {
    expect(decideReport(known, none, time)).toMatchObject({
      newBoot: null,
      bootCount: 7,
      bootedAt: null,
      bootKnownMs: 4_999_000,
    })
  })
})
