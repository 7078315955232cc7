import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'

/**
 * Returns the check whether a value has the shape of the schema. The schema is compiled when the check is first used: a program
 * uses few of the checks that it imports, and compiling all of them took a sixth of the start of an agent.
 */
export function checkOf<T extends TSchema>(schema: T): (value: unknown) => value is Static<T> {
  let compiled: Validator | undefined
  return (value): value is Static<T> => (compiled ??= Compile(schema)).Check(value)
}
