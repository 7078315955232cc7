import { Type } from 'typebox'
import { invalidField } from '../../platform/errors.ts'
import { planOrderInSteps } from '../planning/plan-order.ts'
import {
  canaryGroupsField,
  checkCanaryGroups,
  cutByGroupsInSteps,
  parseGroups,
  refuseEmptyGroupsInSteps,
} from './canary-groups.ts'
import { DEFAULT_PERCENTS, canarySitesField, checkCanarySites, cutBySites } from './canary-sites.ts'
import { gateField, parseGates } from './gate-fields.ts'
import { DEFAULT_MAX_FAILURE_PERCENTAGE, limitFields, noteUnusedPercentage, successField } from './limit-fields.ts'
import type { Strategy } from './strategy.ts'

const fields = {
  ...limitFields,
  canary_phases: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), { minItems: 1, maxItems: 100, default: DEFAULT_PERCENTS }),
  ),
  canary_sites: canarySitesField,
  phase_gates: gateField,
  ...successField,
  canary_groups: canaryGroupsField,
  phase_scope: Type.Optional(
    Type.Enum(['org', 'site'], {
      default: 'org',
      description: 'what the phases divide: the devices of the whole upgrade, or those of each site. Ours',
    }),
  ),
}

/**
 * A few devices first, then ever larger shares. A phase in which too many failed, or none succeeded, pauses the
 * upgrade; limits by phase replace both rules. Source: spec, "Organization device upgrade request"; decisions 8 and 19.
 */
export const canary: Strategy<'canary', typeof fields> = {
  name: 'canary',
  fields,
  check(body, chosen) {
    parsePercents(body.canary_phases)
    checkCanarySites(body, chosen)
    checkCanaryGroups(body, chosen)
  },
  parse(body, of = 'reboots') {
    const {
      canary_phases,
      canary_sites: sites,
      phase_scope: scope = 'org',
      max_failures,
      max_failure_percentage,
    } = body
    const { phase_gates, min_success_percentage } = body
    const percents = parsePercents(canary_phases)
    const groups = parseGroups(body.canary_groups)
    const parts = sites ?? groups
    const phases = parts === null ? percents.length : parts.length + 1
    const limits = parseLimits(max_failures, { sent: (parts ?? canary_phases ?? percents).length, phases })
    const waits = parseGates(phase_gates, { of, phases, scope })
    const percent = max_failure_percentage ?? DEFAULT_MAX_FAILURE_PERCENTAGE
    return {
      scope,
      onlyType: null,
      maxFailurePercentage: limits === null ? percent : null,
      joins: 'last_phase',
      percents: parts === null ? percents : null,
      notes: limits === null ? [] : noteUnusedPercentage(max_failure_percentage, 'with max_failures'),
      *planInSteps(targets, facts) {
        const ordered = yield* planOrderInSteps(facts.upgradeId, targets)
        if (groups !== null) return yield* cutByGroupsInSteps(ordered, groups, facts)
        return sites === undefined ? cut(ordered, percents) : cutBySites(ordered, sites)
      },
      refuseDevicesInSteps: (devices, facts) => refuseEmptyGroupsInSteps(devices, groups ?? [], facts),
      gate: (phase) => ({
        ...(limits === null
          ? { max_failures: null, max_failure_percentage: percent, min_upgraded: 1 }
          : { max_failures: limits[phase - 1] ?? null, max_failure_percentage: null, min_upgraded: 0 }),
        ...waits.get(phase),
        ...(min_success_percentage !== undefined && { min_success_percentage }),
      }),
    }
  },
}

/** @returns Cumulative percentages; the last is 100. */
function parsePercents(percents: readonly number[] = DEFAULT_PERCENTS): readonly number[] {
  if (percents.some((percent, index) => index > 0 && percent <= (percents[index - 1] ?? 0)))
    throw invalidField('canary_phases', 'must rise from phase to phase: they are cumulative percentages')
  return percents.at(-1) === 100 ? percents : [...percents, 100]
}

/**
 * @param counts The number of phases that the client sent, and that of the plan: a last one of 100 % may be implied.
 * @returns A limit for each phase. If the implied phase has none of its own, the last number also limits it.
 */
function parseLimits(
  limits: readonly number[] | undefined,
  { sent, phases }: { readonly sent: number; readonly phases: number },
): readonly number[] | null {
  const last = limits?.at(-1)
  if (limits === undefined || last === undefined) return null
  if (limits.length === phases) return limits
  if (limits.length === sent) return [...limits, last]
  const given = limits.length === 1 ? '1 number' : `${limits.length} numbers`
  const implied = sent < phases ? `, or ${sent}, without that of the last phase` : ''
  throw invalidField('max_failures', `has ${given}, but must have ${phases}, one for each phase${implied}`)
}

/** Each share is rounded up, so 1 % of 20 devices is one device, not none. */
function cut<T>(targets: readonly T[], percents: readonly number[]): T[][] {
  const ends = percents.map((percent) => Math.ceil((targets.length * percent) / 100))
  return ends.map((end, index) => targets.slice(ends[index - 1] ?? 0, end))
}
