import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decidePassword, defaultPasswordRules } from './decide-password.ts'

const email = 'dorothea.brooke@example.test'
const decide = (password: string, rules = defaultPasswordRules) => decidePassword(password, email, rules)

describe('decidePassword', () => {
  it.each([
    ['too short', 'q7#xv2k', 'must have at least 8 characters'],
    ['too long', 'ab'.repeat(65), 'must have at most 128 characters'],
    ['common', 'password1', 'is one of the most common passwords'],
    ['common in another case', 'PassWord1', 'is one of the most common passwords'],
    ['common in full-width letters', 'ｐａｓｓｗｏｒｄ', 'is one of the most common passwords'],
    ['the address', 'Dorothea.Brooke@Example.Test', 'must not be the e-mail address'],
    ['the name in the address', 'dorothea.brooke', 'must not be the e-mail address'],
  ])('refuses a password that is %s', (_what, password, reason) => {
    expect(decide(password)).toBe(reason)
  })

  it('counts characters, not UTF-16 units', () => {
    expect(decide('🐎🔋📎🧷')).toBe('must have at least 8 characters')
    expect(decide('🐎🔋📎🧷🐎🔋📎🧸')).toBeNull()
  })

  it('applies the rules of an organization', () => {
    const rules = { minLength: 12, requiresSpecialChar: true }
    expect(decide('unusualwords', rules)).toBe('must have a special character')
    expect(decide('unusual w0rds', rules)).toBe('must have a special character')
    expect(decide('unusual-wor', rules)).toBe('must have at least 12 characters')
    expect(decide('unusual-words', rules)).toBeNull()
  })

  it('never allows less than 8 characters, whatever an organization sets', () => {
    expect(decide('x7#q', { minLength: 1, requiresSpecialChar: false })).toBe('must have at least 8 characters')
  })

  it('decides the same for all compatibility forms of a password', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200, unit: 'grapheme' }), (password) => {
        expect(decide(password)).toBe(decide(password.normalize('NFKC')))
      }),
    )
  })
})
