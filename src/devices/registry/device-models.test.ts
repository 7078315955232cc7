import { expect, it } from 'vitest'
import { deviceModels } from './device-models.ts'
import { typeOfModel } from './models.ts'

it('says of every model what its name says, and says it once', () => {
  for (const { model, type } of deviceModels) expect(typeOfModel(model), model).toBe(type)
  expect(new Set(deviceModels.map(({ model }) => model)).size).toBe(deviceModels.length)
})
