import fc from 'fast-check'
import { expect, it } from 'vitest'
import { faults } from '../faults.ts'
import { advanceDevice } from './advance-device.ts'
import {
  type DeviceInput,
  type DeviceState,
  type Effect,
  type Profile,
  isOnline,
  newDevice,
  resumeDevice,
} from './device.ts'
import { MAC, OLD, image, profileOf, replies, upgradeParams, uri, waits } from './test-device.ts'

const anyInput: fc.Arbitrary<DeviceInput> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<DeviceInput>({ on: 'elapsed' }) },
  fc.constant<DeviceInput>({ on: 'connected' }),
  fc.constant<DeviceInput>({ on: 'client_restarted' }),
  fc.nat(100).map((percent): DeviceInput => ({ on: 'progress', percent })),
  fc
    .constantFrom(null, ['EAP101', 'ECS4150'], ['WF188'])
    .map((models): DeviceInput => ({ on: 'downloaded', image: { ...image, models } })),
  fc.constant<DeviceInput>({ on: 'download_failed', text: 'curl_rc 7' }),
  fc
    .record({
      id: fc.integer({ min: 2, max: 50 }),
      method: fc.constantFrom(
        'reboot',
        'upgrade',
        'leds',
        'ping',
        'request',
        'telemetry',
        'x-signalbox.reboot',
        'toString',
        'other',
      ),
      params: fc.constantFrom(
        {},
        upgradeParams,
        { uri },
        { uri: 7 },
        { member: 1 },
        { message: 'state', request_uuid: 'r' },
      ),
    })
    .map(({ id, method, params }): DeviceInput => ({ on: 'call', id, method, params: { serial: MAC, ...params } })),
)
const anyProfile = fc
  .record({ type: fc.constantFrom('ap' as const, 'switch' as const), own: fc.subarray([...faults]) })
  .map(({ type, own }) => profileOf(type, own))

it('never does more than it was asked to, and never gets stuck', () => {
  fc.assert(
    fc.property(anyProfile, fc.array(anyInput, { maxLength: 80 }), (profile, inputs) => {
      let state = newDevice(profile, OLD, 0)
      let upgrades = 0
      let reboots = 0
      for (const [i, input] of inputs.entries()) {
        const next = advanceDevice(profile, state, { input, nowMs: i * 1000 })
        if (input.on === 'call' && input.method === 'upgrade' && isTaken(state, next.state)) upgrades += 1
        else if (input.on === 'call' && next.state.activity !== state.activity) reboots += 1
        checkStep(profile, state, next)
        state = next.state
        expect(state.counts.downloads).toBeLessThanOrEqual(upgrades)
        expect(state.counts.flashes).toBeLessThanOrEqual(state.counts.downloads)
        expect(state.counts.boots).toBeLessThanOrEqual(state.counts.flashes + reboots)
        if (state.firmware !== OLD) expect(state.counts.flashes).toBeGreaterThan(0)
      }
    }),
  )
})

it('continues after a restart of the simulator, whatever it was doing', () => {
  fc.assert(
    fc.property(anyProfile, fc.array(anyInput, { maxLength: 40 }), (profile, inputs) => {
      let state = newDevice(profile, OLD, 0)
      for (const input of inputs) state = advanceDevice(profile, state, { input, nowMs: 1000 }).state
      const before = state
      const wasDown =
        before.activity.kind === 'installing' || !['idle', 'downloading', 'triggering'].includes(before.activity.kind)
      state = resumeDevice(profile, before, 5000).state
      for (let i = 0; i < 70 && state.activity.kind !== 'idle' && state.activity.kind !== 'lost'; i++) {
        state = advanceDevice(profile, state, { input: { on: 'elapsed' }, nowMs: 6000 }).state
      }
      expect(['idle', 'lost']).toContain(state.activity.kind)
      const bootsMade = state.activity.kind === 'lost' ? 0 : Number(wasDown)
      expect(state.counts.boots).toBe(before.counts.boots + bootsMade)
      expect(state.counts.flashes).toBe(before.counts.flashes + Number(before.activity.kind === 'installing'))
    }),
  )
})

function isTaken(before: DeviceState, after: DeviceState): boolean {
  return after.activity !== before.activity || after.queue !== before.queue
}

/** Checks that a timed activity starts with a timer, and that a device that was offline sends nothing. */
function checkStep(
  profile: Profile,
  before: DeviceState,
  next: { state: DeviceState; effects: readonly Effect[] },
): void {
  const { kind } = next.state.activity
  const entered = kind !== before.activity.kind
  if (entered && ['triggering', 'installing', 'restarting', 'booting'].includes(kind)) {
    expect(waits(next.effects)).toHaveLength(1)
  }
  expect(replies(next.effects).length).toBeLessThanOrEqual(1)
  if (isOnline(profile, before)) return
  expect(next.effects.filter((effect) => effect.do === 'reply' || effect.do === 'notify')).toEqual([])
}
