import { describe, expect, it } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { createCheckPassword } from './check-password.ts'
import { createLoginThrottle, guesserAt } from './login-throttle.ts'
import { createPasswords, isOutdatedHash } from './password.ts'

const email = 'ada@example.test'
const guesser = guesserAt('192.0.2.1')

async function setUp() {
  const passwords = createPasswords()
  const throttle = createLoginThrottle({ now: () => new Date('2026-11-20T12:00:00Z') })
  const check = createCheckPassword(passwords, throttle)
  return { check, passwordHash: await passwords.hash('right password') }
}

const isLimited = (error: unknown) => error instanceof AppError && error.code === 'rate_limited'

describe('checkPassword', () => {
  it('counts a correct password once, however many concurrent calls use it', async () => {
    const { check, passwordHash } = await setUp()
    const attempt = { email, passwordHash, password: 'right password', guesser }
    expect(await Promise.all(Array.from({ length: 20 }, () => check(attempt)))).not.toContain(false)
  })

  it.each(['an account', 'no account'])('stops guesses at %s after five', async (what) => {
    const known = await setUp()
    const passwordHash = what === 'an account' ? known.passwordHash : null
    const guess = (i: number) => known.check({ email, passwordHash, password: `guess ${i}`, guesser })
    expect(await Promise.all([0, 1, 2, 3, 4].map(guess))).toEqual([false, false, false, false, false])
    await expect(guess(5)).rejects.toSatisfy(isLimited)
  })

  it('does not count attempts that were refused because too many waited', async () => {
    const { check, passwordHash } = await setUp()
    const crowd = Array.from({ length: 150 }, (_, i) =>
      check({ email: `${i}@example.test`, passwordHash: null, password: 'x', guesser }).catch(() => 'refused'),
    )
    const right = { email, passwordHash, password: 'right password', guesser }
    for (let i = 0; i < 6; i += 1)
      await expect(check(right)).rejects.toMatchObject({ message: expect.stringContaining('at once') })
    expect(await Promise.all(crowd)).toContain('refused')
    expect(await check(right)).toBe(true)
  })

  it('accepts a password that was correct a moment ago, while another caller guesses', async () => {
    const { check, passwordHash } = await setUp()
    const right = { email, passwordHash, password: 'right password', guesser }
    expect(await check(right)).toBe(true)
    for (let i = 0; i < 5; i += 1) await check({ email, passwordHash, password: `guess ${i}`, guesser })
    await expect(check({ email, passwordHash, password: 'guess 6', guesser })).rejects.toSatisfy(isLimited)
    expect(await check(right)).toBe(true)
  })
})

describe('isOutdatedHash', () => {
  it('recognizes the current parameters', async () => {
    const { passwordHash } = await setUp()
    expect(isOutdatedHash(passwordHash)).toBe(false)
    expect(isOutdatedHash(passwordHash.replace('t=2', 't=1'))).toBe(true)
    expect(isOutdatedHash(passwordHash.replace('argon2id', 'argon2i'))).toBe(true)
  })
})
