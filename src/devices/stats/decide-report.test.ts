import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Report, type ReportedStatus, decideReport } from './decide-report.ts'

const at = new Date('2026-11-20T12:00:00Z')
const none: Report = { load: {}, uptimeS: null, firmware: null }
const known: ReportedStatus = { load: { cpu_percent: 3, uptime_s: 100 }, bootCount: 7, bootedAt: null, fwupdate: null }

describe('decideReport', () => {
  test('adds what the report brings and keeps the rest', () => {
    expect(decideReport(known, { ...none, load: { memory_free: 5 } }, at).load).toEqual({
      cpu_percent: 3,
      uptime_s: 100,
      memory_free: 5,
    })
  })

  test('an uptime that went back is a boot, of which the old load says nothing', () => {
    expect(decideReport(known, { ...none, uptimeS: 99 }, at)).toEqual({
      booted: true,
      bootCount: 8,
      load: { uptime_s: 99 },
      bootedAt: new Date(at.getTime() - 99_000),
      fwupdate: null,
    })
  })

  test('uptimes that grow are never a boot, however many', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100_000)), (steps) => {
        let uptimeS = 0
        let status: ReportedStatus = { ...known, load: null }
        for (const step of steps) {
          uptimeS += step
          status = decideReport(status, { ...none, uptimeS }, at)
        }
        expect(status.bootCount).toBe(7)
      }),
    )
  })

  test('a report without uptime is no evidence', () => {
    expect(decideReport(known, none, at)).toMatchObject({ booted: false, bootCount: 7, bootedAt: null })
  })

  test.each([
    ['download', 50, { status: 'inprogress', progress: 25 }],
    ['install', 50, { status: 'inprogress', progress: 75 }],
    ['install', null, { status: 'inprogress', progress: 50 }],
    ['success', null, { status: 'success', progress: 100 }],
    ['fail', null, { status: 'failed', progress: 0 }],
  ] as const)('%s at %s percent', (operation, percent, expected) => {
    const { fwupdate } = decideReport(known, { ...none, firmware: { operation, percent } }, at)
    expect(fwupdate).toMatchObject({ ...expected, timestamp: at.getTime() / 1000 })
  })

  test('idle changes nothing', () => {
    expect(decideReport(known, { ...none, firmware: { operation: 'idle', percent: 0 } }, at).fwupdate).toBeNull()
  })
})
