import { describe, expect, test } from 'vitest'
import { type KnownStatus, decideConnect, provesBoot } from './decide-connect.ts'

const at = new Date('2026-11-20T12:00:00Z')
const facts = { firmware: '1.0.0' }
const known: KnownStatus = {
  connected: false,
  connectedAt: at,
  firmware: '1.0.0',
  bootId: null,
  outageUnreported: false,
}

const reconnect = { cameUp: true, restarted: false }

describe('a connection', () => {
  test('is not a boot by itself', () => {
    expect(provesBoot(known, facts)).toBe(false)
    expect(decideConnect(known, facts)).toEqual(reconnect)
  })

  test.each(['recovery', 'upgradefailed', 'crashlog', 'coldboot', 'boot'])(
    'is not a boot by the reason %s',
    (reason) => {
      const withReason = { ...facts, reason }
      expect(provesBoot(known, withReason)).toBe(false)
      expect(decideConnect(known, withReason)).toEqual(reconnect)
    },
  )

  test('with another version is a boot', () => {
    expect(provesBoot(known, { firmware: '2.0.0' })).toBe(true)
    expect(decideConnect(known, { firmware: '2.0.0' })).toEqual({ cameUp: true, restarted: true })
  })

  test('with another boot id is a boot, and with the first one of a device none', () => {
    const named = { ...known, bootId: 'first' }
    const second = { ...facts, boot_id: 'second' }
    expect(provesBoot(named, second)).toBe(true)
    expect(decideConnect(named, second)).toMatchObject({ restarted: true })
    expect(provesBoot(named, { ...facts, boot_id: 'first' })).toBe(false)
    expect(provesBoot(named, facts)).toBe(false)
    expect(provesBoot(known, { ...facts, boot_id: 'first' })).toBe(false)
  })

  test('that is the first one is not a boot, whatever the version, because there was no other', () => {
    const fresh = { ...known, connectedAt: null, firmware: null }
    expect(provesBoot(fresh, facts)).toBe(false)
    expect(decideConnect(fresh, facts)).toEqual(reconnect)
  })

  test('is not reported for a device that was never reported as disconnected', () => {
    expect(decideConnect({ ...known, connected: true }, facts).cameUp).toBe(false)
    expect(decideConnect({ ...known, outageUnreported: true }, facts).cameUp).toBe(false)
  })

  test('is reported as a boot even if the outage was not reported', () => {
    const decision = decideConnect({ ...known, outageUnreported: true }, { firmware: '2.0.0' })
    expect(decision).toEqual({ cameUp: false, restarted: true })
  })
})
