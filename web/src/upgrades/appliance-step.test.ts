import { expect, it } from 'vitest'
import { stepText } from './appliance-step.ts'

it('names steps of services and of the distribution', () => {
  const step = { to_version: '2.0.0', done: false }
  expect(stepText({ ...step, service: 'tunterm', from_version: '1.0.0' })).toBe('tunterm 1.0.0 → 2.0.0')
  expect(stepText({ ...step, service: 'mxdas' })).toBe('mxdas 2.0.0')
  expect(stepText({ distro: true, from_version: 'bookworm', to_version: 'trixie', done: true })).toBe(
    'distribution bookworm → trixie',
  )
})
