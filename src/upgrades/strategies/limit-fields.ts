import { Type } from 'typebox'

/** Fields that limit failures. Source: spec, "Organization device upgrade request". */
export const limitFields = {
  max_failures: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 1_000_000 }), { maxItems: 101 })),
  max_failure_percentage: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, default: 5 })),
}

export const DEFAULT_MAX_FAILURE_PERCENTAGE = 5
