import { expect, it } from 'vitest'
import { typeOfModel } from './models.ts'

it.each([
  ['AP45', 'ap'],
  ['EAP102', 'ap'],
  ['edgecore_eap104', 'ap'],
  ['cig_wf196', 'ap'],
  ['EX4100-48P', 'switch'],
  ['QFX5120-48Y', 'switch'],
  ['ECS4150-28P', 'switch'],
  ['edgecore_ecs4150-54t', 'switch'],
  ['SRX345', 'gateway'],
  ['SSR120', 'gateway'],
  ['Toaster-3', null],
  ['', null],
])('finds the type of %s: %s', (model, type) => {
  expect(typeOfModel(model)).toBe(type)
})
