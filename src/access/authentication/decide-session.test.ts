import { describe, expect, it } from 'vitest'
import { decideSession, isPasswordExpired } from './decide-session.ts'

const now = new Date('2026-11-20T12:00:00Z')
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000)

describe('decideSession', () => {
  it.each([
    ['just now', 0, null, 'leave'],
    ['within a minute', 59, 5, 'leave'],
    ['a minute ago', 60, 5, 'touch'],
    ['hours ago, where nothing ends it', 86_400, null, 'touch'],
    ['as long ago as allowed and a minute', 360, 5, 'touch'],
    ['longer ago', 361, 5, 'ended'],
  ] as const)('used %s', (_what, secondsAgo, idleMinutes, kind) => {
    const closedOrgIds = kind === 'ended' ? ['a'] : []
    const session = { lastSeenAt: ago(secondsAgo), closedOrgIds: [] }
    expect(decideSession(session, [{ orgId: 'a', idleMinutes }], now)).toEqual({ kind, closedOrgIds })
  })

  it('closes the organizations alone in which it was idle for too long, and opens none again', () => {
    const orgs = [
      { orgId: 'a', idleMinutes: 5 },
      { orgId: 'b', idleMinutes: null },
    ]
    const idle = decideSession({ lastSeenAt: ago(600), closedOrgIds: [] }, orgs, now)
    expect(idle).toEqual({ kind: 'touch', closedOrgIds: ['a'] })
    expect(decideSession({ ...idle, lastSeenAt: now }, orgs, now)).toEqual({ kind: 'leave', closedOrgIds: ['a'] })
  })

  it('continues for a person without an organization', () => {
    expect(decideSession({ lastSeenAt: ago(86_400), closedOrgIds: [] }, [], now).kind).toBe('touch')
  })

  it('keeps a session alive that is used every minute, however short the limit', () => {
    let lastSeenAt = now
    for (let seconds = 0; seconds < 3600; seconds += 59) {
      const at = new Date(now.getTime() + seconds * 1000)
      const { kind, closedOrgIds } = decideSession(
        { lastSeenAt, closedOrgIds: [] },
        [{ orgId: 'a', idleMinutes: 1 }],
        at,
      )
      expect(closedOrgIds).toEqual([])
      if (kind === 'touch') lastSeenAt = at
    }
  })

  it('records the first use of a session', () => {
    const session = { lastSeenAt: null, closedOrgIds: [] }
    expect(decideSession(session, [{ orgId: 'a', idleMinutes: 1 }], now).kind).toBe('touch')
  })
})

describe('isPasswordExpired', () => {
  it.each([
    [90, null, false],
    [90, 90, false],
    [91, 90, true],
  ])('%d days old of %j', (days, expiryDays, expired) => {
    expect(isPasswordExpired(ago(days * 86_400), expiryDays, now)).toBe(expired)
  })

  it('is false if it is unknown when the password was set', () => {
    expect(isPasswordExpired(null, 1, now)).toBe(false)
  })
})
