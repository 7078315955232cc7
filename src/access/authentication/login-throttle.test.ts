import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { type Guesser, createLoginThrottle, decideWaitMs, guesserAt } from './login-throttle.ts'

function setUp() {
  let nowMs = Date.parse('2026-11-20T12:00:00Z')
  const throttle = createLoginThrottle({ now: () => new Date(nowMs) })
  /** Returns the seconds to wait, or 0 if the attempt was admitted. */
  const tryAt = (work: () => void): number => {
    try {
      work()
      return 0
    } catch (error) {
      if (error instanceof AppError && error.code === 'rate_limited') return error.retryAfterS ?? -1
      throw error
    }
  }
  return {
    take: (key = 'dorothea@example.test') => tryAt(() => throttle.take(key)),
    from: (srcIp: string) => tryAt(() => throttle.takeFrom(srcIp)),
    giveBack: (srcIp: string) => throttle.giveBackTo(srcIp),
    succeed: (key = 'dorothea@example.test') => throttle.succeed(key),
    guess: (guesser: Guesser) => tryAt(() => throttle.takeGuess('dorothea@example.test', guesser)),
    signIn: (guesser: Guesser) => throttle.succeedGuess('dorothea@example.test', guesser),
    passS: (seconds: number) => {
      nowMs += seconds * 1000
    },
  }
}

describe('attempts at one account', () => {
  it('are allowed five times, then after doubling pauses', () => {
    const { take, passS } = setUp()
    expect([1, 2, 3, 4, 5].map(() => take())).toEqual([0, 0, 0, 0, 0])
    for (const pauseS of [30, 60, 120, 240, 480, 900, 900]) {
      expect(take()).toBe(pauseS)
      passS(pauseS - 1)
      expect(take()).toBe(1)
      passS(1)
      expect(take()).toBe(0)
    }
  })

  it('do not extend a pause while it lasts', () => {
    const { take, passS } = setUp()
    for (let i = 0; i < 5; i += 1) take()
    for (let i = 0; i < 100; i += 1) expect(take()).toBe(30)
    passS(30)
    expect(take()).toBe(0)
  })

  it('are forgotten after a success and after a quarter of an hour without attempts', () => {
    const { take, passS, succeed } = setUp()
    for (let i = 0; i < 5; i += 1) take()
    succeed()
    expect(take()).toBe(0)
    for (let i = 0; i < 4; i += 1) take()
    expect(take()).toBe(30)
    passS(901)
    expect([1, 2, 3, 4, 5].map(() => take())).toEqual([0, 0, 0, 0, 0])
  })

  it('are counted per account', () => {
    const { take } = setUp()
    for (let i = 0; i < 5; i += 1) take()
    expect(take('celia@example.test')).toBe(0)
  })

  it('never have to wait for more than a quarter of an hour', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(), (count, agoMs) => {
        const waitMs = decideWaitMs({ count, lastMs: 0 }, agoMs)
        expect(waitMs).toBeGreaterThanOrEqual(0)
        expect(waitMs).toBeLessThanOrEqual(15 * 60_000)
      }),
    )
  })
})

describe('guesses at the password of one account', () => {
  const attacker = guesserAt('192.0.2.1')
  const owner = guesserAt('198.51.100.7')
  const browser = { id: 'device 1', isKnown: true }

  it('delay only the guesser', () => {
    const { guess } = setUp()
    for (let i = 0; i < 5; i += 1) expect(guess(attacker)).toBe(0)
    expect(guess(attacker)).toBe(30)
    expect(guess(owner)).toBe(0)
    expect(guess(browser)).toBe(0)
  })

  it('from many networks delay strangers, but no network or browser of an earlier login', () => {
    const { guess, signIn, passS } = setUp()
    expect(guess(owner)).toBe(0)
    signIn(owner)
    for (let i = 0; i < 100; i += 1) expect(guess(guesserAt(`203.0.113.${i}`))).toBe(0)
    expect(guess(guesserAt('203.0.113.200'))).toBe(30)
    expect(guess(owner)).toBe(0)
    expect(guess(browser)).toBe(0)
    passS(30)
    expect(guess(guesserAt('203.0.113.200'))).toBe(0)
    expect(guess(guesserAt('203.0.113.201'))).toBe(60)
  })

  it('are limited from a known browser too', () => {
    const { guess } = setUp()
    for (let i = 0; i < 5; i += 1) expect(guess(browser)).toBe(0)
    expect(guess(browser)).toBe(30)
    expect(guess({ id: 'device 2', isKnown: true })).toBe(0)
  })
})

describe('attempts from one address', () => {
  it('are allowed thirty times a minute', () => {
    const { from, passS } = setUp()
    for (let i = 0; i < 30; i += 1) expect(from('192.0.2.1')).toBe(0)
    expect(from('192.0.2.1')).toBe(60)
    expect(from('192.0.2.2')).toBe(0)
    passS(60)
    expect(from('192.0.2.1')).toBe(0)
  })

  it('do not count if they were correct', () => {
    const { from, giveBack } = setUp()
    for (let i = 0; i < 100; i += 1) {
      expect(from('192.0.2.1')).toBe(0)
      giveBack('192.0.2.1')
    }
  })

  it('are counted for the 2^64 addresses of one customer together', () => {
    const { from } = setUp()
    for (let i = 0; i < 30; i += 1) from(`2001:db8:0:7::${i.toString(16)}`)
    expect(from('2001:db8:0:7:1:2:3:4')).toBe(60)
    expect(from('2001:db8::7:0:0:0:1')).toBe(60)
    expect(from('2001:db8:0:8::1')).toBe(0)
  })

  it('are counted separately for mapped IPv4 addresses', () => {
    const { from } = setUp()
    for (let i = 0; i < 30; i += 1) from('::ffff:192.0.2.1')
    expect(from('::ffff:192.0.2.1')).toBe(60)
    expect(from('::ffff:192.0.2.2')).toBe(0)
  })
})
