import { expect, test } from 'vitest'
import { cpuTimesBetween, findVirtualization, parseCpuTicks, parseMemory, parseTraffic } from './parse-proc.ts'

test('the time of processors is shared between two readings', () => {
  const before = parseCpuTicks('cpu  100 0 50 800 0 0 0 0\ncpu0 100 0 50 800 0 0 0 0\nintr 1 2\n')
  const after = parseCpuTicks('cpu  150 10 70 900 10 5 5 0\ncpu0 150 10 70 900 10 5 5 0\n')
  const none = { user: 0, system: 0, interrupt: 0, idle: 0 }
  expect([...after.keys()]).toEqual(['cpu', 'cpu0'])
  const share = cpuTimesBetween(before.get('cpu') ?? none, after.get('cpu') ?? none)
  expect(share).toEqual({ user: 30, system: 10, interrupt: 5, idle: 55 })
  expect(cpuTimesBetween(none, none)).toBeNull()
  expect(cpuTimesBetween(after.get('cpu') ?? none, before.get('cpu') ?? none)).toBeNull()
})

test('memory is in bytes, and values that the kernel does not report are absent', () => {
  const text = 'MemTotal:        8000 kB\nMemFree:         1000 kB\nSwapTotal:          0 kB\nHugePages_Total:    3\n'
  expect(parseMemory(text)).toEqual({ total: 8_192_000, free: 1_024_000, swap_total: 0 })
})

test('the traffic of an interface is received first, then sent', () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
  eth0: 1000 10 1 0 0 0 0 0 2000 20 2 0 0 0 0 0
`
  const eth0 = { rx_bytes: 1000, rx_pkts: 10, rx_errors: 1, tx_bytes: 2000, tx_pkts: 20, tx_errors: 2 }
  expect(parseTraffic(text).get('eth0')).toEqual(eth0)
})

test.each([
  ['VMware, Inc. VMware7,1 ', '0::/', 'vmware'],
  ['QEMU Standard PC (Q35 + ICH9, 2009) ', '0::/', 'kvm'],
  ['Microsoft Corporation Virtual Machine ', '0::/', 'hyper-v'],
  ['Dell Inc. PowerEdge R640 ', '0::/', undefined],
  ['Dell Inc. PowerEdge R640 ', '12:cpu:/docker/abc', 'docker'],
])('the machine %j with the control group %j is %s', (product, cgroup, expected) => {
  expect(findVirtualization({ product, cgroup })).toBe(expected)
})
