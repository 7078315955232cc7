import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BUCKET_S, type Bucket, type Sample, addSample, meanOf, sampleOf } from './decide-bucket.ts'
import type { Telemetry } from './telemetry.ts'
import { trafficOf } from './traffic.ts'

const nothing: Telemetry = { unit: {}, radios: [], ports: [], interfaces: [], neighbors: [], wireless: [], wired: [] }

/** Adds the samples one after the other. @returns All buckets, the last of them open. */
function bucketsOf(samples: readonly (readonly [number, Sample])[]): Bucket[] {
  const closed: Bucket[] = []
  let open: Bucket | null = null
  for (const [atS, sample] of samples) {
    const next = addSample(open, sample, atS)
    if (next.closed !== null) closed.push(next.closed)
    open = next.open
  }
  return open === null ? closed : [...closed, open]
}

describe('a bucket', () => {
  it('has the means of its reports and the sums of their traffic', () => {
    const [bucket, ...others] = bucketsOf([
      [600, { values: { cpu: 10, clients: 1 }, rx_bytes: 5, uptime: 60 }],
      [660, { values: { cpu: 15 }, rx_bytes: 7, tx_bytes: 1, uptime: 120 }],
      [1199, { values: { cpu: 11.3 } }],
    ])
    expect(others).toEqual([])
    expect(bucket).toMatchObject({ at: 600, samples: 3, rx_bytes: 12, tx_bytes: 1, uptime: 120 })
    if (bucket === undefined) throw new Error('no bucket')
    expect([meanOf(bucket, 'cpu'), meanOf(bucket, 'clients'), meanOf(bucket, 'memory')]).toEqual([12.1, 1, null])
  })

  it('is over when a report of another one arrives, and loses nothing', () => {
    const sample = fc.record({ at: fc.nat(100_000), cpu: fc.nat(100), bytes: fc.nat(1e9) })
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1 }), (samples) => {
        const buckets = bucketsOf(samples.map(({ at, cpu, bytes }) => [at, { values: { cpu }, rx_bytes: bytes }]))
        const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)
        expect(sum(buckets.map((bucket) => bucket.samples))).toBe(samples.length)
        expect(sum(buckets.map((bucket) => bucket.rx_bytes ?? 0))).toBe(sum(samples.map(({ bytes }) => bytes)))
        for (const { at } of buckets) expect(at % BUCKET_S).toBe(0)
      }),
    )
  })
})

describe('the use of a channel in a sample', () => {
  const at = (uptimeS: number) => ({
    atMs: 0,
    telemetry: {
      ...nothing,
      unit: { uptime_s: uptimeS },
      radios: [
        { band: '5', bssids: [], num_clients: 0, num_wlans: 0, util_all: 89, airtime: { active: 9, busy: 8 } },
      ] as const,
    },
  })

  it('is that of the time since the report before, and not since the radio started', () => {
    expect(sampleOf(at(100), at(160)).values).toHaveProperty('util_5', 89)
    expect(sampleOf(null, at(160)).values).not.toHaveProperty('util_5')
    expect(sampleOf(at(158), at(160)).values).not.toHaveProperty('util_5')
  })
})

describe('a sample', () => {
  const telemetry: Telemetry = {
    ...nothing,
    unit: { uptime_s: 160.7, cpu_percent: 12, memory_total: 200, memory_free: 50, num_clients: 9 },
    radios: [
      { band: '24', bssids: [], num_clients: 4, num_wlans: 1, util_all: 20 },
      { band: '5', bssids: [], num_clients: 3, num_wlans: 1, util_all: 5 },
      { band: '5', bssids: [], num_clients: 2, num_wlans: 1, util_all: 8 },
    ],
    ports: [
      { id: 'eth0', uplink: true, rx_bytes: 1000, tx_bytes: 10 },
      { id: 'eth1', rx_bytes: 5000, tx_bytes: 5000 },
    ],
  }

  it('has the values of the unit and of each band', () => {
    expect(sampleOf(null, { telemetry, atMs: 0 })).toEqual({
      values: { cpu: 12, memory: 75, clients: 9, clients_24: 4, util_24: 20, clients_5: 5, util_5: 8 },
      uptime: 160,
    })
  })

  it('has the traffic since the last report: of the uplinks of an access point, of all ports of a switch', () => {
    const earlier = {
      ...telemetry,
      unit: { uptime_s: 100 },
      ports: telemetry.ports.map((port) => ({ ...port, rx_bytes: 0 })),
    }
    const [known, report] = [earlier, telemetry].map((one) => ({ telemetry: one, atMs: 0 }))
    if (known === undefined || report === undefined) throw new Error('no reports')
    expect(sampleOf(known, report)).toMatchObject({ rx_bytes: 1000, tx_bytes: 0 })
    const asSwitch = (one: typeof known) => ({ ...one, telemetry: { ...one.telemetry, radios: [] } })
    expect(sampleOf(asSwitch(known), asSwitch(report))).toMatchObject({ rx_bytes: 6000, tx_bytes: 0 })
    expect(trafficOf(telemetry)).toEqual({ rx_bytes: 1000, tx_bytes: 10 })
  })

  it('has no traffic after a restart', () => {
    const known = { telemetry: { ...telemetry, unit: { uptime_s: 999 } }, atMs: 0 }
    expect(sampleOf(known, { telemetry, atMs: 0 })).not.toHaveProperty('rx_bytes')
  })
})
