import { expect, it } from 'vitest'
import { deviceModels } from './device-models.ts'
import { typeOfModel } from './models.ts'

it('lists every model once, with the type that its name implies', () => {
  for (const { model, type } of deviceModels) expect(typeOfModel(model), model).toBe(type)
  expect(new Set(deviceModels.map(({ model }) => model)).size).toBe(deviceModels.length)
})
