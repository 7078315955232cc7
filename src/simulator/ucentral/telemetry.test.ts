import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDeviceMessage } from '../../gateway/ucentral/messages.ts'
import { type DeviceState, newDevice, type Profile } from './device.ts'
import { realPace, timingOf } from '../pace.ts'
import { decodeState } from '../../gateway/ucentral/state/decode-state.ts'
import { connectParams, healthcheckParams, stateParams, upgradeEventParams } from './telemetry.ts'

const none = new Set<never>()
const anyMac = fc.nat(2 ** 40).map((n) => n.toString(16).padStart(12, '0'))
const anyProfile: fc.Arbitrary<Profile> = fc.record({
  mac: anyMac,
  serial: fc.constant('S1'),
  model: fc.constant('EAP101'),
  type: fc.constantFrom('ap' as const, 'switch' as const),
  members: fc.array(fc.record({ member: fc.nat(9), mac: anyMac, serial: fc.constant('M'), model: fc.constant('X') }), {
    maxLength: 10,
  }),
  cluster: fc.boolean(),
  methods: fc.subarray(['stage', 'activate', 'restore_backup', 'snapshot']),
  faults: fc.constant(none),
  timing: fc.constant(timingOf(realPace, none)),
})

describe('telemetry', () => {
  it('has the shape that the protocol requires, at any time', () => {
    fc.assert(
      fc.property(anyProfile, fc.nat(2 ** 40), (profile, nowMs) => {
        const state = newDevice(profile, '1.0.0', 1000)
        expect(isDeviceMessage('connect', connectParams(profile, state))).toBe(true)
        expect(isDeviceMessage('state', stateParams(profile, state, nowMs))).toBe(true)
        expect(isDeviceMessage('healthcheck', healthcheckParams(profile))).toBe(true)
        const event = upgradeEventParams(profile, nowMs, { operation: 'download', percentage: 5 })
        expect(isDeviceMessage('event', event)).toBe(true)
      }),
    )
  })

  it('counts uptime in whole seconds since the boot', () => {
    const profile = fc.sample(anyProfile, 1)[0]
    if (profile === undefined) throw new Error('no sample')
    const state = newDevice(profile, '1.0.0', 10_000)
    expect(stateParams(profile, state, 72_999)).toMatchObject({ state: { unit: { uptime: 62, localtime: 72 } } })
  })

  it('reports what a gateway understands: radios with clients, ports, neighbors, power and forwarding tables', () => {
    fc.assert(
      fc.property(anyProfile, fc.integer({ min: 70_000, max: 2 ** 31 }), (profile, nowMs) => {
        const device = { ...profile, model: 'EAP104' }
        const told = decodeState(stateParams(device, newDevice(device, '1.0.0', 10_000), nowMs)['state'])
        expect(told.neighbors).toHaveLength(1)
        expect(told.interfaces[0]?.ips[0]).toMatch(/^10\.20\./)
        if (device.type === 'switch') {
          expect(told.ports).toHaveLength(24)
          expect(told.wired).toHaveLength(16)
          expect(told.ports.filter(({ poe_on }) => poe_on === true)).toHaveLength(4)
          expect(told.unit).toMatchObject({ poe_budget: 370, num_macs: 17 })
        } else {
          expect(told.radios.map(({ band }) => band)).toEqual(['24', '5', '6'])
          for (const { bssids, num_wlans: wlans } of told.radios) expect([bssids.length, wlans]).toEqual([2, 2])
          expect(told.wireless.length).toBe(told.unit.num_clients)
          expect(told.wireless.length).toBeGreaterThanOrEqual(3)
          expect(told.ports).toMatchObject([
            { id: 'eth0', uplink: true, speed: 1000 },
            { id: 'eth1', up: false },
          ])
        }
      }),
    )
  })

  it('lacks a radio, or the neighbor, while it runs a version of which it is unhealthy', () => {
    fc.assert(
      fc.property(anyProfile, fc.integer({ min: 70_000, max: 2 ** 31 }), (profile, nowMs) => {
        const device = { ...profile, faults: new Set(['unhealthy'] as const) }
        const before = newDevice(device, '1.0.0', 10_000)
        const healthOf = (state: DeviceState) => {
          const { radios, neighbors, ports } = decodeState(stateParams(device, state, nowMs)['state'])
          return [radios.length, neighbors.length, ports.length]
        }
        const [radios = 0, neighbors = 0, ports] = healthOf(before)
        const expected = device.type === 'ap' ? [radios - 1, neighbors, ports] : [radios, neighbors - 1, ports]
        expect(healthOf({ ...before, upgraded: true })).toEqual(expected)
      }),
    )
  })

  it('counts evenly, so that counters and airtime never go back', () => {
    fc.assert(
      fc.property(anyProfile, fc.nat(10 ** 6), fc.integer({ min: 1, max: 10 ** 4 }), (profile, atS, laterS) => {
        const device = newDevice(profile, '1.0.0', 0)
        const [then, now] = [atS, atS + laterS].map((s) => decodeState(stateParams(profile, device, s * 1000)['state']))
        if (then === undefined || now === undefined) throw new Error('no states')
        then.ports.forEach(({ rx_bytes = 0 }, i) =>
          expect(now.ports[i]?.rx_bytes ?? 0).toBeGreaterThanOrEqual(rx_bytes),
        )
        then.radios.forEach(({ airtime }, i) =>
          expect(now.radios[i]?.airtime?.busy).toBeGreaterThanOrEqual(airtime?.busy ?? 0),
        )
      }),
    )
  })

  it('advertises the extension only for devices with several parts, and with methods of it', () => {
    fc.assert(
      fc.property(anyProfile, (profile) => {
        const { capabilities } = connectParams(profile, newDevice(profile, '1.0.0', 0))
        expect('x-signalbox' in capabilities).toBe(
          profile.members.length > 0 || profile.cluster || profile.methods.length > 0,
        )
      }),
    )
  })
})
