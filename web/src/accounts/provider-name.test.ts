import { expect, it } from 'vitest'
import { providerName } from './provider-name.ts'

it('writes names as their owners do', () => {
  expect(['google', 'github', 'azure'].map(providerName)).toEqual(['Google', 'GitHub', 'Azure'])
})
