import { describe, expect, test } from 'vitest'
import { type KnownStatus, decideConnect } from './decide-connect.ts'

const at = new Date('2026-11-20T12:00:00Z')
const facts = { firmware: '1.0.0' }
const known: KnownStatus = {
  connected: false,
  connectedAt: at,
  firmware: '1.0.0',
  bootId: null,
  outageUnreported: false,
}

describe('decideConnect', () => {
  test('treats a reconnect as no boot', () => {
    expect(decideConnect(known, facts)).toEqual({ booted: false, cameUp: true, restarted: false })
  })

  test.each(['recovery', 'upgradefailed', 'crashlog', 'coldboot', 'boot'])(
    'treats the reason %s as no boot',
    (reason) => {
      const withReason = { ...facts, reason }
      expect(decideConnect(known, withReason)).toMatchObject({ booted: false, restarted: false })
    },
  )

  test('treats another version as a boot', () => {
    expect(decideConnect(known, { firmware: '2.0.0' })).toMatchObject({ booted: true, restarted: true })
  })

  test('treats another boot id as a boot, and the first one of a device as none', () => {
    const named = { ...known, bootId: 'first' }
    expect(decideConnect(named, { ...facts, boot_id: 'second' })).toMatchObject({ booted: true, restarted: true })
    expect(decideConnect(named, { ...facts, boot_id: 'first' })).toMatchObject({ booted: false, restarted: false })
    expect(decideConnect(named, facts)).toMatchObject({ booted: false })
    expect(decideConnect(known, { ...facts, boot_id: 'first' })).toMatchObject({ booted: false })
  })

  test('treats the first connection as no boot, whatever the version, because there was no other', () => {
    const fresh = { ...known, connectedAt: null, firmware: null }
    expect(decideConnect(fresh, facts)).toEqual({ booted: false, restarted: false, cameUp: true })
  })

  test('reports no connect of a device that was never reported as disconnected', () => {
    expect(decideConnect({ ...known, connected: true }, facts).cameUp).toBe(false)
    expect(decideConnect({ ...known, outageUnreported: true }, facts).cameUp).toBe(false)
  })

  test('reports a boot even if the outage was not reported', () => {
    const decision = decideConnect({ ...known, outageUnreported: true }, { firmware: '2.0.0' })
    expect(decision).toEqual({ booted: true, cameUp: false, restarted: true })
  })
})
