import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FirmwareProgress, type Report, type ReportedStatus, decideReport } from './decide-report.ts'

const at = new Date('2026-11-20T12:00:00Z')
const time = { at, atMs: 5_000_000 }
const none: Report = { load: {}, uptimeS: null, boot: null, firmware: null, telemetry: null }
const known: ReportedStatus = {
  load: { cpu_percent: 3, uptime_s: 100 },
  bootCount: 7,
  bootedAt: null,
  bootKnownMs: 4_999_000,
  connectedAt: null,
  fwupdate: null,
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
      fwupdate: null,
    })
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

  const running = { progress: 5, status: 'inprogress', status_id: 7, timestamp: 1, will_retry: true } as const
  const after = (fwupdate: ReportedStatus['fwupdate'], ...said: FirmwareProgress[]) =>
    said.reduce<ReportedStatus>((status, firmware) => decideReport(status, { ...none, firmware }, time), {
      ...known,
      fwupdate,
    }).fwupdate

  test.each([
    ['download', 0, 5],
    ['download', 40, 31],
    ['download', 100, 70],
    ['install', null, 70],
    ['install', 50, 80],
    ['success', null, 90],
  ] as const)('%s at %s percent moves a running update to %i', (operation, percent, progress) => {
    const moved = progress > 5 ? { progress, status_id: 8, timestamp: at.getTime() / 1000 } : {}
    expect(after(running, { operation, percent })).toEqual({ ...running, ...moved })
  })

  test('late or repeated progress does not decrease the percentage', () => {
    const installing = { ...running, progress: 80 }
    for (const operation of ['idle', 'download', 'fail'] as const)
      expect(after(installing, { operation, percent: 100 })).toBe(installing)
    expect(after(installing, { operation: 'install', percent: 10 })).toBe(installing)
  })

  test('no message of a device begins or ends an update', () => {
    const ended = { ...running, status: 'failed' } as const
    for (const operation of ['idle', 'download', 'install', 'success', 'fail'] as const) {
      expect(after(null, { operation, percent: 50 })).toBeNull()
      expect(after(ended, { operation, percent: 50 })).toBe(ended)
      expect(after(running, { operation, percent: 50 })?.status).toBe('inprogress')
    }
  })
})
