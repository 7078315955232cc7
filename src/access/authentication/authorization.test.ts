import { expect, it } from 'vitest'
import { canonicalAuthorization, parseAuthorization } from './authorization.ts'

const basic = (login: string): string => Buffer.from(login).toString('base64')

it('finds a token, or an address and a password', () => {
  expect(parseAuthorization('Token abc')).toEqual({ scheme: 'token', value: 'abc' })
  expect(parseAuthorization(`Basic ${basic('a@b.c:Pass:word ')}`)).toEqual({
    scheme: 'basic',
    value: 'a@b.c:Pass:word ',
  })
})

it('finds the same however they are written', () => {
  for (const header of ['token abc', ' TOKEN \t abc ']) expect(canonicalAuthorization(header)).toBe('token abc')
  const login = basic('a@b.c:Word')
  for (const header of [`basic ${login.replaceAll('=', '')}`, `Basic ${login}!`, `BASIC ${basic(' A@B.c :Word')}`])
    expect(canonicalAuthorization(header)).toBe('basic a@b.c:Word')
})

it.each(['', 'Token', 'Token ', 'Bearer abc', 'Token abc 1', `Basic ${basic('a:b')} 1`])(
  'finds none in "%s"',
  (header) => {
    expect(parseAuthorization(header)).toBeUndefined()
    expect(canonicalAuthorization(header)).toBe('')
  },
)
