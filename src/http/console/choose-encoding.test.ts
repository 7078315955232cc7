import { expect, it } from 'vitest'
import { type Encoding, chooseEncoding } from './choose-encoding.ts'

it.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0', null],
  ['*', 'br'],
  ['br;q=0, *;q=0.1', 'gzip'],
  ['identity', null],
  ['br;q=many', null],
  ['', null],
  [undefined, null],
])('chooses for %j', (accepted, chosen) => {
  expect(chooseEncoding(accepted, new Set<Encoding>(['gzip', 'br']))).toBe(chosen)
})

it('chooses among those that are stored', () => {
  expect(chooseEncoding('br, gzip', new Set<Encoding>(['gzip']))).toBe('gzip')
  expect(chooseEncoding('br', new Set<Encoding>(['gzip']))).toBeNull()
  expect(chooseEncoding('*', new Set())).toBeNull()
})
