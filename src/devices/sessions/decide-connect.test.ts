import { describe, expect, test } from 'vitest'
import { type KnownStatus, decideConnect } from './decide-connect.ts'

const at = new Date('2026-11-20T12:00:00Z')
const facts = { firmware: '1.0.0' }
const known: KnownStatus = { connected: false, connectedAt: at, firmware: '1.0.0', outageUntold: false }

describe('decideConnect', () => {
  test('a reconnect is no boot', () => {
    expect(decideConnect(known, facts)).toEqual({ booted: false, cameUp: true, restarted: false })
  })

  test.each(['recovery', 'upgradefailed', 'crashlog', 'coldboot', 'boot'])('%s as a reason is none', (reason) => {
    const said = { ...facts, reason }
    expect(decideConnect(known, said)).toMatchObject({ booted: false, restarted: false })
  })

  test('another version is one', () => {
    expect(decideConnect(known, { firmware: '2.0.0' })).toMatchObject({ booted: true, restarted: true })
  })

  test('the first connection ever is none, whatever the version: there was no other', () => {
    const fresh = { ...known, connectedAt: null, firmware: null }
    expect(decideConnect(fresh, facts)).toEqual({ booted: false, restarted: false, cameUp: true })
  })

  test('one that was never told to be down has not come up', () => {
    expect(decideConnect({ ...known, connected: true }, facts).cameUp).toBe(false)
    expect(decideConnect({ ...known, outageUntold: true }, facts).cameUp).toBe(false)
  })

  test('a boot is told, although nobody was told of the outage', () => {
    const decision = decideConnect({ ...known, outageUntold: true }, { firmware: '2.0.0' })
    expect(decision).toEqual({ booted: true, cameUp: false, restarted: true })
  })
})
