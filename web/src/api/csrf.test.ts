import { expect, it } from 'vitest'
import { csrfTokenIn } from './csrf.ts'

it.each([
  ['csrftoken=abc', 'abc'],
  ['theme=dark; csrftoken=a%2Fb; other=1', 'a/b'],
  ['xcsrftoken=abc', null],
  ['csrftoken=', null],
  ['', null],
])('finds in %j', (cookies, token) => {
  expect(csrfTokenIn(cookies)).toBe(token)
})
