import { expect, it } from 'vitest'
import { AppError, TextError, invalidField, tooManyRequests } from '../../platform/errors.ts'
import { errorOfRefusal, refusalOf } from './messages.ts'

it.each([
  new AppError('conflict', 'In use', { devices: 3 }),
  invalidField('note', 'must be a text'),
  tooManyRequests('Later.', 7),
  new TextError('No backup version'),
])('a refusal is the same error in the other process: %s', (error) => {
  const passed = errorOfRefusal(structuredClone(refusalOf(error)))
  expect(passed.constructor).toBe(error.constructor)
  const { code, message, fields, retryAfterS } = error
  expect(passed).toMatchObject({ code, message, fields, retryAfterS })
})
