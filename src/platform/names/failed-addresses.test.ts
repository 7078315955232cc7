import { beforeEach, expect, it } from 'vitest'
import { type FailedAddresses, createFailedAddresses } from './failed-addresses.ts'

let nowMs: number
let failed: FailedAddresses
beforeEach(() => {
  nowMs = 0
  failed = createFailedAddresses(() => nowMs)
})

/** Returns the last numbers of the addresses, in the order in which they are tried. */
function order(name: string, count = 4): number[] {
  const addresses = Array.from({ length: count }, (_, index) => ({ address: `192.0.2.${index}`, family: 4 }) as const)
  return failed.putLast(name, addresses).map(({ address }) => Number(address.split('.').at(-1)))
}

it('puts the failed addresses of a name last for five minutes, each from its last failure on', () => {
  failed.add('a.test', ['192.0.2.0', '192.0.2.1'])
  expect([order('a.test'), order('b.test')]).toEqual([
    [2, 3, 0, 1],
    [0, 1, 2, 3],
  ])
  nowMs = 60_000
  failed.add('a.test', ['192.0.2.1', '192.0.2.2'])
  expect(order('a.test')).toEqual([3, 0, 1, 2])
  nowMs = 300_000
  expect(order('a.test')).toEqual([0, 3, 1, 2])
  nowMs = 360_000
  expect(order('a.test')).toEqual([0, 1, 2, 3])
})

it('remembers only the newest names and addresses', () => {
  failed.add(
    'many.test',
    Array.from({ length: 65 }, (_, index) => `192.0.2.${index}`),
  )
  expect(order('many.test', 66).slice(0, 3)).toEqual([0, 65, 1])
  for (let name = 0; name < 4999; name += 1) failed.add(`${name}.test`, ['192.0.2.0'])
  failed.add('many.test', ['192.0.2.1'])
  failed.add('another.test', ['192.0.2.0'])
  expect([order('0.test', 2), order('1.test', 2), order('many.test', 66)[0]]).toEqual([[0, 1], [1, 0], 0])
})
