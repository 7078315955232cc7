import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { invalidField } from '../../platform/errors.ts'
import { type BatchOptions, countSources, planBatchesInSteps } from '../radio/plan-batches.ts'
import type { RadioFactsByMac } from '../radio/radio.ts'
import {
  DEFAULT_MAX_FAILURE_PERCENTAGE,
  limitFields,
  noteUnusedLimits,
  successField,
  successGate,
} from './limit-fields.ts'
import type { Strategy } from './strategy.ts'

const Percentage = { minimum: 1, maximum: 100 }

const rrmFields = {
  rrm_first_batch_percentage: Type.Optional(Type.Integer({ ...Percentage, default: 2 })),
  rrm_max_batch_percentage: Type.Optional(Type.Integer({ ...Percentage, default: 10 })),
  rrm_mesh_upgrade: Type.Optional(Type.Enum(['parallel', 'sequential'], { default: 'sequential' })),
  rrm_node_order: Type.Optional(Type.Enum(['center_to_fringe', 'fringe_to_center'], { default: 'fringe_to_center' })),
  rrm_slow_ramp: Type.Optional(Type.Boolean({ default: false })),
}

const fields = { ...limitFields, ...successField, ...rrmFields }

/** Published clients send these values with every strategy. */
const defaults: Readonly<Record<string, unknown>> = Object(Value.Default(Type.Object(rrmFields), {}))

const nothing: RadioFactsByMac = new Map()

/**
 * Growing batches of access points, at each site, in which no two are radio neighbors: wherever one restarts, another one
 * serves its clients. Source: spec, "Organization device upgrade request"; decision 57.
 */
export const rrm: Strategy<'rrm', typeof fields> = {
  name: 'rrm',
  fields,
  onlyReboots: true,
  check(body, chosen) {
    if (chosen === 'rrm') return
    const values: Readonly<Record<string, unknown>> = body
    for (const [field, unset] of Object.entries(defaults)) {
      const value = values[field]
      if (value !== undefined && value !== unset)
        throw invalidField(
          field,
          `is ${JSON.stringify(value)}, but is for the strategy rrm only, and the strategy is ${chosen}`,
        )
    }
  },
  parse(body) {
    const { max_failures: limits = [], max_failure_percentage: percent = DEFAULT_MAX_FAILURE_PERCENTAGE } = body
    const options: BatchOptions = {
      firstPercent: body.rrm_first_batch_percentage ?? 2,
      maxPercent: body.rrm_max_batch_percentage ?? 10,
      order: body.rrm_node_order ?? 'fringe_to_center',
      slowRamp: body.rrm_slow_ramp ?? false,
      mesh: body.rrm_mesh_upgrade ?? 'sequential',
    }
    return {
      scope: 'site',
      onlyType: 'ap',
      maxFailurePercentage: percent,
      joins: 'own_phase',
      percents: null,
      notes: noteUnusedLimits(limits, 'rrm'),
      *planInSteps(targets, { radio = nothing }) {
        yield
        return yield* planBatchesInSteps(targets, { ...options, radio })
      },
      noteSite(targets, { radio = nothing }) {
        const { scan, map, lldp, none } = countSources(targets, radio)
        const known = `${scan} by scans, of ${map} by the map, of ${lldp} by LLDP, and of ${none} not at all`
        return [{ reason: `The radio neighbors of the access points are known: of ${known}` }]
      },
      gate: () => successGate(body.min_success_percentage),
    }
  },
}
