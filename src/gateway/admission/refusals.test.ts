import { expect, it } from 'vitest'
import { createRefusals } from './refusals.ts'

const tls = { protocol: 'ucentral', why: 'tls' }

it('counts the refusals of a device, and names the latest first', () => {
  let nowMs = 1000
  const refusals = createRefusals(() => nowMs)
  refusals.add({ ...tls, address: '192.0.2.1' })
  nowMs = 2000
  refusals.add({ ...tls, why: 'identity', address: '192.0.2.9', mac: '02516e000001' })
  nowMs = 3000
  refusals.add({ ...tls, address: '192.0.2.1' })
  expect(refusals.list()).toEqual([
    { ...tls, address: '192.0.2.1', count: 2, firstMs: 1000, lastMs: 3000 },
    { ...tls, why: 'identity', address: '192.0.2.9', mac: '02516e000001', count: 1, firstMs: 2000, lastMs: 2000 },
  ])
})

it('knows a device by its MAC, from whatever address it comes', () => {
  const refusals = createRefusals(() => 0)
  for (const address of ['192.0.2.1', '192.0.2.2'])
    refusals.add({ ...tls, why: 'identity', mac: '02516e000001', address })
  expect(refusals.list()).toMatchObject([{ count: 2, address: '192.0.2.2' }])
})

it('forgets the oldest ones', () => {
  const refusals = createRefusals(() => 0)
  for (let host = 0; host < 1000; host += 1) refusals.add({ ...tls, address: `host ${host}` })
  const found = refusals.list()
  expect(found).toHaveLength(200)
  expect(found.at(-1)).toMatchObject({ address: 'host 800' })
})
