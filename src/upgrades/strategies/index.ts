import type { TProperties } from 'typebox'
import { bigBang } from './big-bang.ts'
import { canary } from './canary.ts'
import { rrm } from './rrm.ts'
import { serial } from './serial.ts'
import type { Strategies, Strategy } from './strategy.ts'

/** The strategies of requests, by name. The schema of requests, their parser and the planner know no others. */
export const strategies = {
  big_bang: bigBang,
  canary,
  rrm,
  serial,
} satisfies Record<string, Strategy>

/** The strategies for devices of any type, and for edge appliances. */
export const commonStrategies = { big_bang: bigBang, canary, serial } satisfies Record<string, Strategy>

/** The fields of all the strategies, as one type. */
type FieldsOf<S extends Strategies> = Extract<Intersection<S[keyof S]['fields']>, TProperties>

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (whole: infer All) => void
  ? All
  : never

/** The fields of requests that the strategies read. */
export function fieldsOf<S extends Strategies>(registry: S): FieldsOf<S> {
  // The intersection of the parts is the type of their union, which TypeScript can't derive from a loop.
  return Object.assign({}, ...Object.values(registry).map(({ fields }) => fields)) as FieldsOf<S>
}
