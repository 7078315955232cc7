import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideRates } from './decide-rates.ts'
import type { Port, Radio, Telemetry } from './telemetry.ts'

const nothing: Telemetry = { unit: {}, radios: [], ports: [], interfaces: [], neighbors: [], wireless: [], wired: [] }

const withPort = (uptimeS: number | null, port: Partial<Port>, atMs = 0) => ({
  atMs,
  telemetry: { ...nothing, unit: uptimeS === null ? {} : { uptime_s: uptimeS }, ports: [{ id: 'eth0', ...port }] },
})
const portOf = (telemetry: Telemetry) => telemetry.ports[0]

describe('bits per second', () => {
  it('follow from the counters of two reports, by the clock of the device', () => {
    const known = withPort(100, { rx_bytes: 1000, tx_bytes: 500 }, 0)
    const report = withPort(160, { rx_bytes: 7000, tx_bytes: 500 }, 999_999)
    expect(portOf(decideRates(known, report))).toMatchObject({ rx_bps: 800, tx_bps: 0 })
  })

  it('follow from the time of arrival if the device reports no uptime', () => {
    const known = withPort(null, { rx_bytes: 0 }, 1000)
    expect(portOf(decideRates(known, withPort(null, { rx_bytes: 1000 }, 11_000)))).toMatchObject({ rx_bps: 800 })
  })

  it('are absent after a restart, a long gap, and for counters that went back or are new', () => {
    const port = { rx_bytes: 1000, tx_bytes: 1000 }
    for (const [known, report] of [
      [null, withPort(60, port)],
      [withPort(100, port), withPort(60, { rx_bytes: 9000, tx_bytes: 9000 })],
      [withPort(100, port), withPort(701, { rx_bytes: 9000, tx_bytes: 9000 })],
      [withPort(100, port), withPort(160, { rx_bytes: 999 })],
      [withPort(100, {}), withPort(160, port)],
    ] as const) {
      const decided = portOf(decideRates(known, report))
      expect(decided).not.toHaveProperty('rx_bps')
      expect(decided).not.toHaveProperty('tx_bps')
    }
  })

  it('do not change when the next report follows within seconds', () => {
    const known = withPort(100, { rx_bytes: 1000, rx_bps: 42 })
    expect(portOf(decideRates(known, withPort(104, { rx_bytes: 1_000_000 })))).toMatchObject({ rx_bps: 42 })
  })

  it('are never negative, and whole', () => {
    const counter = fc.option(fc.maxSafeNat(), { nil: undefined })
    fc.assert(
      fc.property(fc.nat(2000), fc.nat(2000), counter, counter, (then, now, before, after) => {
        const known = withPort(then, before === undefined ? {} : { rx_bytes: before })
        const bps = portOf(decideRates(known, withPort(now, after === undefined ? {} : { rx_bytes: after })))?.rx_bps
        expect(bps ?? 0).toBeGreaterThanOrEqual(0)
        expect(bps ?? 0).toSatisfy(Number.isInteger)
      }),
    )
  })
})

describe('the use of a channel', () => {
  const withRadio = (uptimeS: number, radio: Partial<Radio>) => ({
    atMs: 0,
    telemetry: {
      ...nothing,
      unit: { uptime_s: uptimeS },
      radios: [{ band: '5', channel: 36, bssids: [], num_clients: 0, num_wlans: 0, ...radio } as const],
    },
  })
  const known = withRadio(100, { airtime: { active: 100_000, busy: 10_000, rx: 4000, tx: 1000 } })

  it('is the share of the time since the last report', () => {
    const report = withRadio(160, { airtime: { active: 160_000, busy: 40_000, rx: 19_000, tx: 7000 } })
    expect(decideRates(known, report).radios[0]).toMatchObject({ util_all: 50, util_tx: 10, util_non_wifi: 15 })
  })

  it('is that since the radio started in the first report', () => {
    expect(decideRates(null, known).radios[0]).toMatchObject({ util_all: 10, util_tx: 1, util_non_wifi: 5 })
  })

  it('is unknown after a gap, on another channel and for a radio without a former report', () => {
    const airtime = { active: 800_000, busy: 700_000, rx: 19_000, tx: 7000 }
    const none = { atMs: 0, telemetry: { ...nothing, unit: { uptime_s: 100 } } }
    for (const [then, report] of [
      [known, withRadio(100 + 660, { airtime })],
      [known, withRadio(160, { channel: 40, airtime })],
      [none, withRadio(160, { airtime })],
    ] as const)
      for (const name of ['util_all', 'util_tx', 'util_non_wifi'])
        expect(decideRates(then, report).radios[0]).not.toHaveProperty(name)
  })

  it('is what the firmware computes where it reports no times, and otherwise unknown', () => {
    expect(decideRates(known, withRadio(160, { util_all: 33 })).radios[0]).toMatchObject({ util_all: 33 })
    const back = withRadio(160, { airtime: { active: 5, busy: 1 } })
    expect(decideRates(known, back).radios[0]).not.toHaveProperty('util_all')
  })

  it('is a percentage, whatever the counters are', () => {
    const airtime = fc.record({ active: fc.nat(), busy: fc.nat(), rx: fc.nat(), tx: fc.nat() })
    fc.assert(
      fc.property(airtime, airtime, (then, now) => {
        const [radio] = decideRates(withRadio(1, { airtime: then }), withRadio(61, { airtime: now })).radios
        for (const share of [radio?.util_all, radio?.util_tx, radio?.util_non_wifi])
          expect(share ?? 0).toSatisfy((value: number) => Number.isInteger(value) && value >= 0 && value <= 100)
      }),
    )
  })
})
