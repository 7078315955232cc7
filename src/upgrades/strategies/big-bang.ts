import { invalidField } from '../../platform/errors.ts'
import { planOrderInSteps } from '../planning/plan-order.ts'
import { limitFields, noteUnusedPercentage } from './limit-fields.ts'
import type { Strategy } from './strategy.ts'

const fields = limitFields

/** All devices at once, without a limit. Source: spec, "Organization device upgrade request". */
export const bigBang: Strategy<'big_bang', typeof fields> = {
  name: 'big_bang',
  fields,
  parse({ max_failures: limits = [], max_failure_percentage: percent }) {
    if (limits.length > 0)
      throw invalidField('max_failures', 'is given with the strategy big_bang, which has no phases to limit')
    return {
      scope: 'site',
      onlyType: null,
      maxFailurePercentage: null,
      joins: 'last_phase',
      percents: null,
      notes: noteUnusedPercentage(percent, 'with the strategy big_bang'),
      *planInSteps(targets, { upgradeId }) {
        return [yield* planOrderInSteps(upgradeId, targets)]
      },
      gate: () => null,
    }
  },
}
