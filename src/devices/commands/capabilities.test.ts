import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { supportsLocate, supportsRestart } from './capabilities.ts'

const able = { 'x-signalbox': { protocol: 1, methods: ['reboot'] } }
const stack = { 'x-signalbox': { protocol: 1, methods: ['reboot'], members: [{ member: 0 }, { member: 1 }] } }

describe('supportsRestart', () => {
  test('every device restarts as a whole, whatever it advertises', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.anything()),
        (capabilities) => supportsRestart(capabilities, {}) === null,
      ),
    )
    expect(supportsRestart({}, {})).toBeNull()
  })

  test('a part needs the capability', () => {
    expect(supportsRestart({}, { member: 1 })).toBe('the device can not restart member 1 alone')
    expect(supportsRestart({}, { node: 'node0' })).toBe('the device can not restart node node0 alone')
    expect(supportsRestart({ 'x-signalbox': { methods: ['stage'] } }, { member: 1 })).not.toBeNull()
    expect(supportsRestart({ 'x-signalbox': { methods: 'reboot' } }, { member: 1 })).not.toBeNull()
    expect(supportsRestart(able, { member: 1 })).toBeNull()
    expect(supportsRestart(able, { node: 'node1' })).toBeNull()
  })

  test('a member must be one that the device lists', () => {
    expect(supportsRestart(stack, { member: 1 })).toBeNull()
    expect(supportsRestart(stack, { member: 2 })).toBe('the device has no member 2')
  })

  test('not both at once', () => {
    expect(supportsRestart(able, { member: 1, node: 'node0' })).not.toBeNull()
  })
})

test('supportsLocate: only access points have LEDs that can be asked to blink', () => {
  expect(supportsLocate('ap')).toBeNull()
  expect(supportsLocate('switch')).toBe('only access points can blink their LEDs')
  expect(supportsLocate('gateway')).not.toBeNull()
})
