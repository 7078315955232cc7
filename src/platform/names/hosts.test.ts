import { expect, it } from 'vitest'
import { findLoopback, parseHosts } from './hosts.ts'

it('reads addresses and their names, whatever else there is', () => {
  const hosts = parseHosts(
    '127.0.0.1\tlocalhost\n10.0.0.1  A.test a # first\r\n10.0.0.2 a.test\n10.0.0.1 a.test\nfe80::1%lo0 zone\n# x\nnonsense b\n::1',
  )
  expect(Object.fromEntries(hosts)).toEqual({
    localhost: [{ address: '127.0.0.1', family: 4 }],
    'a.test': [
      { address: '10.0.0.1', family: 4 },
      { address: '10.0.0.2', family: 4 },
    ],
    a: [{ address: '10.0.0.1', family: 4 }],
    zone: [{ address: 'fe80::1%lo0', family: 6 }],
  })
})

it('knows the names of this machine', () => {
  expect(findLoopback('localhost')).toHaveLength(2)
  expect(findLoopback('x.localhost')).toHaveLength(2)
  expect(findLoopback('notlocalhost')).toBeUndefined()
})
