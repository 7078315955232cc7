import { Type } from 'typebox'
import type { PhaseGate, UpgradeNote } from '../../rollout/rollout.ts'

/** Fields that limit failures. Source: spec, "Organization device upgrade request". */
export const limitFields = {
  max_failures: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 1_000_000 }), { maxItems: 101 })),
  max_failure_percentage: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, default: 5 })),
}

/** A smaller share of upgraded devices in a phase pauses the upgrade. Signalbox's own field. */
export const successField = {
  min_success_percentage: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
}

/** The gate of phases whose only condition is a share of upgraded devices; null: there is no such condition. */
export function successGate(percent: number | undefined): PhaseGate | null {
  if (percent === undefined) return null
  return { max_failures: null, max_failure_percentage: null, min_upgraded: 0, min_success_percentage: percent }
}

export const DEFAULT_MAX_FAILURE_PERCENTAGE = 5

/**
 * Notes limits by phase without effect. Published clients send limits with every strategy, and there they are harmless.
 * @param strategy Its name: it has no limits of its phases.
 */
export function noteUnusedLimits(limits: readonly number[], strategy: string): UpgradeNote[] {
  if (limits.length === 0) return []
  return [{ reason: `max_failures has no effect with the strategy ${strategy}; max_failure_percentage applies` }]
}

/**
 * Notes a percentage without effect, unless it is the default, which published clients send with every strategy.
 * @param why Such as "with the strategy big_bang".
 */
export function noteUnusedPercentage(percent: number | undefined, why: string): UpgradeNote[] {
  if (percent === undefined || percent === DEFAULT_MAX_FAILURE_PERCENTAGE) return []
  return [{ reason: `max_failure_percentage has no effect ${why}` }]
}
