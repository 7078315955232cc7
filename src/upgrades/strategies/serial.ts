import { planOrderInSteps } from '../planning/plan-order.ts'
import { DEFAULT_MAX_FAILURE_PERCENTAGE, limitFields, successField, successGate } from './limit-fields.ts'
import type { Strategy, TargetFacts } from './strategy.ts'

const fields = { ...limitFields, ...successField }

/** One device after the other, at each site. Source: spec, "Organization device upgrade request". */
export const serial: Strategy<'serial', typeof fields> = {
  name: 'serial',
  fields,
  parse({
    max_failures: limits = [],
    max_failure_percentage: percent = DEFAULT_MAX_FAILURE_PERCENTAGE,
    min_success_percentage: share,
  }) {
    // Published clients send limits with every strategy; they are accepted if they are harmless.
    const reason = 'max_failures has no effect with the strategy serial; max_failure_percentage applies'
    return {
      scope: 'site',
      onlyType: null,
      maxFailurePercentage: percent,
      joins: 'own_phase',
      percents: null,
      notes: limits.length > 0 ? [{ reason }] : [],
      *planInSteps(targets, { upgradeId, ranks }) {
        const rankOf = ({ mac }: TargetFacts): number => ranks?.get(mac) ?? 0
        const random = yield* planOrderInSteps(upgradeId, targets)
        const ordered = random.toSorted((a, b) => rankOf(a) - rankOf(b))
        return ordered.map((target) => [target])
      },
      gate: () => successGate(share),
    }
  },
}
