import { describe, expect, test } from 'vitest'
import { type KnownStatus, decideConnect } from './decide-connect.ts'
import type { DeviceFacts } from '../device.ts'

const at = new Date('2026-11-20T12:00:00Z')
const facts: DeviceFacts = {
  firmware: '1.0.0',
  model: 'm',
  type: 'ap',
  capabilities: {},
  members: null,
  reason: 'socket',
  ext_ip: null,
}
const known: KnownStatus = { connected: false, connectedAt: at, firmware: '1.0.0', outageUntold: false }

describe('decideConnect', () => {
  test('a reconnect is no boot', () => {
    expect(decideConnect(known, facts)).toEqual({ booted: false, cameUp: true, restarted: false })
  })

  test.each(['boot', 'upgradefailed', 'crashlog', 'recovery'])('%s is one', (reason) => {
    expect(decideConnect(known, { ...facts, reason })).toMatchObject({ booted: true, restarted: true })
  })

  test('so is another version, whatever the reason', () => {
    expect(decideConnect(known, { ...facts, firmware: '2.0.0' })).toMatchObject({ booted: true, restarted: true })
  })

  test('the first connection ever is a boot at most, never a restart', () => {
    const fresh = { ...known, connectedAt: null, firmware: null }
    expect(decideConnect(fresh, { ...facts, reason: 'boot' })).toMatchObject({
      booted: true,
      restarted: false,
      cameUp: true,
    })
    expect(decideConnect(fresh, { ...facts, reason: null })).toMatchObject({ booted: false, cameUp: true })
  })

  test('one that was never told to be down has not come up', () => {
    expect(decideConnect({ ...known, connected: true }, facts).cameUp).toBe(false)
    expect(decideConnect({ ...known, outageUntold: true }, facts).cameUp).toBe(false)
  })

  test('a boot is told, although nobody was told of the outage', () => {
    const decision = decideConnect({ ...known, outageUntold: true }, { ...facts, reason: 'boot' })
    expect(decision).toEqual({ booted: true, cameUp: false, restarted: true })
  })
})
