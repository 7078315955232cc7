import fc from 'fast-check'
import { expect, it } from 'vitest'
import { returnPath } from './return-path.ts'

const origin = 'https://signalbox.example'

it.each([
  ['/orgs/1/devices?type=ap#top', '/orgs/1/devices?type=ap#top'],
  ['//evil.example/x', '/'],
  ['/\\evil.example', '/'],
  ['https://evil.example', '/'],
  ['javascript:alert(1)', '/'],
  ['/sign-in?return=/sign-in', '/'],
  [undefined, '/'],
])('returns from %j to %j', (given, path) => {
  expect(returnPath(given, origin)).toBe(path)
})

it('never leaves the server', () => {
  fc.assert(
    fc.property(fc.string(), (given) => {
      expect(new URL(returnPath(given, origin), origin).origin).toBe(origin)
    }),
  )
})
