import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DeviceType } from '../../events/device-type.ts'
import { type CabledDevice, planRanks } from './plan-ranks.ts'

const cabled = (mac: string, type: DeviceType, ...neighbors: string[]): CabledDevice => ({
  ...{ mac, type, siteId: 's' },
  neighbors,
})
const ap = (mac: string) => ({ mac, type: 'ap' as const })
const ranksOf = (all: readonly CabledDevice[], ...accessPoints: string[]) =>
  Object.fromEntries(planRanks([...all, ...accessPoints.map(ap)], all))

test('access points restart first, then switches from the edge to the gateway, which is the last', () => {
  const all = [cabled('core', 'switch', 'edge', 'gw'), cabled('edge', 'switch'), cabled('gw', 'gateway')]
  expect(ranksOf(all, 'ap')).toEqual({ ap: 1, edge: 2, core: 3, gw: 4 })
})

test('without a gateway, the switch with the most neighbors is the last', () => {
  const all = [cabled('a', 'switch', 'core'), cabled('b', 'switch', 'core'), cabled('core', 'switch')]
  expect(ranksOf(all)).toEqual({ a: 1, b: 1, core: 2 })
})

test('devices that may restart in any order have no rank', () => {
  expect(ranksOf([], 'a', 'b')).toEqual({})
  expect(ranksOf([cabled('a', 'switch'), cabled('b', 'switch')])).toEqual({})
})

test('a device restarts before those that it is reached through, over devices that are not upgraded', () => {
  const all = [
    ...[cabled('core', 'switch', 'mid', 'gw'), cabled('mid', 'switch', 'low'), cabled('low', 'switch', 'edge')],
    ...[cabled('edge', 'switch'), cabled('gw', 'gateway')],
  ]
  const of = (...macs: string[]) =>
    Object.fromEntries(
      planRanks(
        all.filter(({ mac }) => macs.includes(mac)),
        all,
      ),
    )
  expect(of('edge', 'core')).toEqual({ edge: 1, core: 2 })
  expect(of('edge', 'gw')).toEqual({ edge: 1, gw: 2 })
  expect(of('edge')).toEqual({})
})

test('a site may have more access points than a call can have arguments', () => {
  const count = 200_000
  const accessPoints = Array.from({ length: count }, (_, index) => ap(`ap${index}`))
  const all = [cabled('core', 'switch'), cabled('gw', 'gateway', 'core')]
  const ranks = planRanks([...accessPoints, ...all], all)
  expect([ranks.get('ap0'), ranks.get('core'), ranks.get('gw')]).toEqual([1, 2, 3])
})

test('two devices with a cable between them never have the same rank, and a rank depends on no order', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const one = fc.record({
    type: fc.constantFrom<DeviceType>('switch', 'switch', 'gateway'),
    neighbors: fc.array(fc.constantFrom(...names, 'unknown'), { maxLength: 4 }),
  })
  const sites = fc.array(one, { minLength: 1, maxLength: names.length })
  fc.assert(
    fc.property(sites, fc.nat(3), (devices, accessPoints) => {
      const all = devices.map((device, index) => Object.assign({}, device, { mac: names[index] ?? '', siteId: 's' }))
      const upgraded = [...all, ...['x', 'y', 'z'].slice(0, accessPoints).map(ap)]
      const ranks = planRanks(upgraded, all)
      expect(planRanks(upgraded.toReversed(), all.toReversed())).toEqual(ranks)
      const rank = (mac: string): number => ranks.get(mac) ?? 0
      const known = new Set(all.map(({ mac }) => mac))
      for (const { mac, neighbors } of all)
        for (const other of neighbors) if (other !== mac && known.has(other)) expect(rank(mac)).not.toBe(rank(other))
      for (const { mac, type } of upgraded)
        for (const other of upgraded)
          if (type === 'ap' && other.type !== 'ap') expect(rank(mac)).toBeLessThan(rank(other.mac))
    }),
  )
})
