import { describe, expect, test } from 'vitest'
import type { DeviceCapabilities } from '../tables.ts'
import { findRefusal, findUpgradeRefusal, noCapabilities } from './capabilities.ts'
import type { CommandOrder } from './command.ts'

const stock: DeviceCapabilities = { ...noCapabilities, commands: ['restart', 'upgrade'] }
const able: DeviceCapabilities = { ...stock, restart_members: 'any', restart_nodes: ['node0', 'node1'] }
const restart = (capabilities: DeviceCapabilities, params: { member?: number; node?: 'node0' | 'node1' }) =>
  findRefusal(capabilities, { kind: 'restart', params })

describe('a restart', () => {
  test('of the whole device requires only the command', () => {
    expect(restart(stock, {})).toBeNull()
    expect(restart(noCapabilities, {})).toBe("The device can't be restarted")
  })

  test('of a part requires the capability', () => {
    expect(restart(stock, { member: 1 })).toBe("The device can't restart member 1 alone")
    expect(restart(stock, { node: 'node0' })).toBe("The device can't restart node node0 alone")
    expect(restart(able, { member: 1 })).toBeNull()
    expect(restart(able, { node: 'node1' })).toBeNull()
    expect(restart({ ...able, commands: [] }, { member: 1 })).not.toBeNull()
  })

  test('of a member requires a listed member if the device lists them', () => {
    const stack: DeviceCapabilities = { ...able, restart_members: [0, 1] }
    expect(restart(stack, { member: 1 })).toBeNull()
    expect(restart(stack, { member: 2 })).toMatch(/^The device has no member 2; its members are \d/)
  })

  test('affects a member or a node, not both', () => {
    expect(restart(able, { member: 1, node: 'node0' })).toBe('Either a member or a node can be restarted, not both')
  })
})

const image = { image_id: 'a', version: '2.0.0' }
const orders: readonly CommandOrder[] = [
  { kind: 'upgrade', params: image },
  { kind: 'stage', params: image },
  { kind: 'activate', params: image },
  { kind: 'locate', params: {} },
  { kind: 'unlocate', params: {} },
  { kind: 'restore_backup', params: {} },
  { kind: 'snapshot', params: {} },
  { kind: 'ping', params: { host: '192.0.2.1', count: 10, size: 56 } },
  { kind: 'support', params: {} },
]
test.each(orders)('$kind requires the command', (order) => {
  expect(findRefusal({ ...noCapabilities, commands: [order.kind] }, order)).toBeNull()
  expect(findRefusal(noCapabilities, order)).toMatch(/^The device (can't|has no)|not supported$/)
})

describe('a reason of the device itself', () => {
  const cluster: DeviceCapabilities = { ...noCapabilities, commands: ['restart'], refusals: { upgrade: 'a cluster' } }

  test('replaces the general one', () => {
    expect(findRefusal(cluster, { kind: 'upgrade', params: image })).toBe('a cluster')
    expect(findRefusal(cluster, { kind: 'stage', params: image })).toBe(
      findRefusal(noCapabilities, { kind: 'stage', params: image }),
    )
  })

  test('refuses an upgrade only where the device can be upgraded in no way', () => {
    expect(findUpgradeRefusal(cluster)).toBe('a cluster')
    expect(findUpgradeRefusal({ ...cluster, commands: ['upgrade'] })).toBeNull()
    expect(findUpgradeRefusal({ ...cluster, commands: ['stage', 'activate'] })).toBeNull()
    expect(findUpgradeRefusal({ ...cluster, commands: ['stage'] })).toBe('a cluster')
    expect(findUpgradeRefusal(noCapabilities)).toBeNull()
  })
})
