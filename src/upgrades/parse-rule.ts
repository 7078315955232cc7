import { invalidField } from '../platform/errors.ts'
import { type Rule, parseCondition } from './planning/plan-selection.ts'

/** @param field Names the rule in errors. @throws AppError invalid */
export function parseRule(rule: Readonly<Record<string, string>>, field: string): Rule {
  const conditions = Object.entries(rule).map(([key, value]) => {
    const condition = parseCondition(key, value)
    // Other unknown keys are allowed, but a rule without one of its conditions would select more devices.
    if (condition === null) throw invalidField(`${field}.${key}`, 'is not match_name, match_model or match_role')
    return condition
  })
  if (conditions.length === 0) throw invalidField(field, 'has no condition')
  return conditions
}
