import { expect, it } from 'vitest'
import type { Target, TargetStatus } from '../../upgrade.ts'
import { groupTargets, selectTargets, targetsAt } from './group-targets.ts'

const target = (mac: string, status: TargetStatus, reason?: string): Target => ({
  mac,
  site_id: 's',
  status,
  ...(reason !== undefined && { reason }),
})

const targets = [
  target('1', 'upgraded'),
  target('2', 'failed', 'unresponsive'),
  target('3', 'scheduled', 'waits for its phase'),
  target('4', 'failed', 'not applied'),
  target('5', 'failed', 'not applied'),
]

it('puts failures first, the most frequent cause before the others', () => {
  expect(groupTargets(targets)).toEqual([
    { status: 'failed', cause: 'not applied', count: 2 },
    { status: 'failed', cause: 'unresponsive', count: 1 },
    { status: 'scheduled', cause: '', count: 1 },
    { status: 'upgraded', cause: '', count: 1 },
  ])
})

it('groups restored devices by why they were restored', () => {
  const restored = (mac: string, restore_reason: string) => ({
    ...target(mac, 'failed', 'rolled_back'),
    restore_reason,
  })
  const some = [restored('1', 'unstable'), restored('2', 'health_radio'), restored('3', 'health_radio')]
  expect(groupTargets(some).map(({ cause, count }) => [cause, count])).toEqual([
    ['health_radio: rolled_back', 2],
    ['unstable: rolled_back', 1],
  ])
  expect(selectTargets(some, { cause: 'unstable: rolled_back' }).map(({ mac }) => mac)).toEqual(['1'])
})

it('selects by state and cause', () => {
  const macs = (search: Parameters<typeof selectTargets>[1]) => selectTargets(targets, search).map(({ mac }) => mac)
  expect(macs({})).toEqual(['2', '4', '5', '3', '1'])
  expect(macs({ state: 'failed' })).toEqual(['2', '4', '5'])
  expect(macs({ state: 'failed', cause: 'unresponsive' })).toEqual(['2'])
})

it('selects those of a site', () => {
  const some = [...targets, { ...target('6', 'failed'), site_id: 't' }]
  expect(targetsAt(some, 't').map(({ mac }) => mac)).toEqual(['6'])
  expect(targetsAt(some, undefined)).toBe(some)
})
