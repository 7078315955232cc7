import { planOrderInSteps } from '../planning/plan-order.ts'
import {
  DEFAULT_MAX_FAILURE_PERCENTAGE,
  limitFields,
  noteUnusedLimits,
  successField,
  successGate,
} from './limit-fields.ts'
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
    return {
      scope: 'site',
      onlyType: null,
      maxFailurePercentage: percent,
      joins: 'own_phase',
      percents: null,
      notes: noteUnusedLimits(limits, 'serial'),
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
