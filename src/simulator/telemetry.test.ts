import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDeviceMessage } from '../gateway/ucentral/messages.ts'
import { newDevice, type Profile } from './device.ts'
import { realPace, timingOf } from './pace.ts'
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

  it('advertises the extension only for devices with several parts', () => {
    fc.assert(
      fc.property(anyProfile, (profile) => {
        const { capabilities } = connectParams(profile, newDevice(profile, '1.0.0', 0))
        expect('x-signalbox' in capabilities).toBe(profile.members.length > 0 || profile.cluster)
      }),
    )
  })
})
