import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type KnownBoot, decideBootedAt, findNewBoot } from './decide-boot.ts'

/** A device and its gateway, second by second: the reports determine the gateway's knowledge. */
interface Life {
  readonly uptimeS: number
  readonly sinceReportS: number
}

const life: fc.Arbitrary<Life> = fc.record({
  uptimeS: fc.integer({ min: 2, max: 10_000_000 }),
  sinceReportS: fc.integer({ min: 0, max: 1_000_000 }),
})
/** The share of the time since the report in which the service did not run, or was not reached. */
const share = fc.double({ min: 0, max: 1, noNaN: true })
const now = new Date('2026-11-20T12:00:00Z')
const NOW_MS = 9e9

/** Returns the gateway's knowledge `sinceReportS` after a report of `uptimeS`. */
function knownAfter({ uptimeS, sinceReportS }: Life, serviceShare = 1): KnownBoot {
  return {
    uptimeS,
    bootKnownMs: NOW_MS - sinceReportS * 1000 * serviceShare,
    bootedAt: new Date(now.getTime() - (uptimeS + sinceReportS) * 1000),
    connectedAt: now,
    connectedMs: NOW_MS,
  }
}

const time = { at: now, atMs: NOW_MS }
const report = (uptimeS: number) => ({ uptimeS, boot: null })

describe('an uptime', () => {
  test('that continues proves nothing, however long the service was down', () => {
    fc.assert(
      fc.property(life, share, (before, serviceShare) => {
        const uptimeS = before.uptimeS + before.sinceReportS
        expect(findNewBoot(knownAfter(before, serviceShare), report(uptimeS), time)).toBeNull()
      }),
    )
  })

  test('that began after the last report proves a boot, even if it is longer than the previous one', () => {
    fc.assert(
      fc.property(life, fc.double({ min: 0, max: 0.99, noNaN: true }), (before, part) => {
        fc.pre(before.sinceReportS >= 3)
        const uptimeS = Math.floor((before.sinceReportS - 2) * part)
        const boot = findNewBoot(knownAfter(before), report(uptimeS), time)
        expect(boot).toEqual({ at: new Date(now.getTime() - uptimeS * 1000), cause: null })
      }),
    )
  })

  test('proves nothing however late it is, on the connection of the known boot or on a later one', () => {
    const delayMs = fc.integer({ min: 0, max: 600_000 })
    const steps = fc.array(fc.record({ afterMs: fc.nat(100_000), delayMs, reconnects: fc.boolean() }), { minLength: 1 })
    fc.assert(
      fc.property(fc.nat(100_000), steps, (firstMs, later) => {
        const bootMs = NOW_MS
        let sentMs = bootMs + firstMs
        let handledMs = sentMs
        let [bootKnownMs, connectedMs] = [sentMs, sentMs]
        let lastS: number | null = null
        for (const step of later) {
          sentMs += step.afterMs
          if (step.reconnects) connectedMs = sentMs
          // The reports of a device arrive in their order.
          handledMs = Math.max(handledMs, sentMs + step.delayMs)
          const uptimeS = Math.floor((sentMs - bootMs) / 1000)
          const handled = { at: new Date(now.getTime() + handledMs - NOW_MS), atMs: handledMs }
          const known = { uptimeS: lastS, bootKnownMs, bootedAt: null, connectedAt: now, connectedMs }
          expect(findNewBoot(known, report(uptimeS), handled)).toBeNull()
          lastS = uptimeS
          bootKnownMs = handledMs
        }
      }),
    )
  })

  test('proves a boot if its report is later than the connection, but by less than the device had been up before', () => {
    const lives = fc.record({ beforeS: fc.integer({ min: 20, max: 1e6 }), awayS: fc.integer({ min: 5, max: 600 }) })
    fc.assert(
      fc.property(lives, fc.double({ min: 0, max: 0.99, noNaN: true }), ({ beforeS, awayS }, part) => {
        // It reported its uptime, rebooted at once, and connected `awayS` later.
        const known = knownAfter({ uptimeS: beforeS, sinceReportS: awayS })
        const lateS = Math.floor((beforeS - 13) * part)
        const late = { at: new Date(now.getTime() + lateS * 1000), atMs: NOW_MS + lateS * 1000 }
        const uptimeS = awayS + lateS
        expect(findNewBoot(known, report(uptimeS), late)).not.toBeNull()
        // The uptime of a hello may have been read long before the connection was recorded.
        const early = { ...report(Math.max(beforeS, awayS)), isOfHello: true }
        expect(findNewBoot(known, early, late)).toBeNull()
      }),
    )
  })

  test('that a slow clock of the device counts proves nothing', () => {
    const known = knownAfter({ uptimeS: 100, sinceReportS: 30 * 86_400 })
    expect(findNewBoot(known, report(100 + 30 * 86_400 - 250), time)).toBeNull()
  })

  test('proves nothing without a previous one', () => {
    const nothing: KnownBoot = {
      uptimeS: null,
      bootKnownMs: null,
      bootedAt: null,
      connectedAt: now,
      connectedMs: NOW_MS,
    }
    expect(findNewBoot(nothing, report(5), time)).toBeNull()
  })
})

describe('the time of a boot', () => {
  const uptimeOf = (uptimeS: number) => ({ uptimeS, isOfParts: false })
  const booted = new Date('2026-11-20T11:00:00Z')
  const connectedAt = new Date(booted.getTime() + 30_000)

  /** Handles reports of a device that booted at `booted`, each with the seconds after which it is read and handled. */
  function bootedAfter(reports: readonly { readS: number; delayS: number }[]): Date | null {
    return reports.reduce<Date | null>((bootedAt, { readS, delayS }) => {
      const handled = new Date(booted.getTime() + (readS + delayS) * 1000)
      return decideBootedAt({ connectedAt, bootedAt }, uptimeOf(readS), { at: handled, atMs: handled.getTime() })
    }, null)
  }

  test('is that of the report with the shortest delay', () => {
    const report = fc.record({ readS: fc.integer({ min: 31, max: 10_000 }), delayS: fc.nat(60) })
    fc.assert(
      fc.property(fc.array(report, { minLength: 1 }), (reports) => {
        const shortestS = Math.min(30, ...reports.map(({ delayS }) => delayS))
        expect(bootedAfter(reports)).toEqual(new Date(booted.getTime() + shortestS * 1000))
      }),
    )
  })

  test('is not later than the connection', () => {
    expect(bootedAfter([{ readS: 31, delayS: 45 }])).toEqual(connectedAt)
  })

  test('is a later one if the clock has been set meanwhile', () => {
    expect(
      bootedAfter([
        { readS: 40, delayS: 0 },
        { readS: 100, delayS: 3600 },
      ]),
    ).toEqual(new Date(booted.getTime() + 3600_000))
  })

  test('of the longest part is that of the last report', () => {
    const at = new Date(connectedAt.getTime() + 50_000)
    const uptime = { uptimeS: 10, isOfParts: true }
    expect(decideBootedAt({ connectedAt, bootedAt: booted }, uptime, { at, atMs: 0 })).toEqual(
      new Date(at.getTime() - 10_000),
    )
  })
})

describe('the uptime of the part that has been up for the longest', () => {
  const ofParts = (uptimeS: number) => ({ ...report(uptimeS), isOfParts: true })

  test('proves nothing when it goes back to that of another part, which has continued', () => {
    fc.assert(
      fc.property(life, share, fc.integer({ min: 2, max: 1000 }), (before, serviceShare, laterS) => {
        fc.pre(before.uptimeS > laterS + 1)
        const uptimeS = before.uptimeS + before.sinceReportS - laterS
        expect(findNewBoot(knownAfter(before, serviceShare), ofParts(uptimeS), time)).toBeNull()
      }),
    )
  })

  test('proves a boot of the device when no part has been up since the last report', () => {
    for (const serviceShare of [0, 0.5, 1]) {
      const known = knownAfter({ uptimeS: 5000, sinceReportS: 300 }, serviceShare)
      expect(findNewBoot(known, ofParts(200), time)).toEqual({ at: new Date(now.getTime() - 200_000), cause: null })
    }
  })
})

describe('a boot that a device reports', () => {
  const known = knownAfter({ uptimeS: 1000, sinceReportS: 300 })
  const reported = (agoS: number) => ({ uptimeS: null, boot: { atS: now.getTime() / 1000 - agoS, cause: 'crash' } })

  test('counts if it was between the last report and the connection', () => {
    for (const agoS of [290, 60, 1])
      expect(findNewBoot(known, reported(agoS), time)).toEqual({
        at: new Date(now.getTime() - agoS * 1000),
        cause: 'crash',
      })
    // The device's clock is a little ahead.
    expect(findNewBoot(known, reported(-30), time)).toEqual({ at: now, cause: 'crash' })
  })

  test('is ignored if it is known already or impossible', () => {
    for (const agoS of [1300, 1299, 5000, 300, -61, -1e12, 1e12])
      expect(findNewBoot(known, reported(agoS), time)).toBeNull()
    expect(findNewBoot({ ...known, bootedAt: null }, reported(60), time)).toBeNull()
  })
})
