import { type AppError, invalidField } from '../errors.ts'

/** For pictures that the decoder, or a reader before it, can't read to the end. */
export function brokenImage(): AppError {
  return invalidField('file', 'is broken or incomplete')
}
