import { Type } from 'typebox'
import { Timestamp, named } from '../http/schemas.ts'
import { START_PHASE, type UpgradeHold } from '../rollout/rollout.ts'

/** Why an upgrade waits. */
export const heldField = Type.Optional(
  named(
    'UpgradeHold',
    Type.Object({
      by: Type.Enum(['approval', 'check', 'gate', 'time', 'user'], {
        description:
          'what it waits for: an approval, a check, a person at a gate, a time, or the person who has paused it',
      }),
      reason: Type.String(),
      phase_of: Type.Optional(
        Type.Literal('downloads', { description: 'present at a gate between phases of the downloads' }),
      ),
      until: Type.Optional(
        Type.Number({
          description:
            'about when the time ends, at the earliest at `not_before` of the gate; time of `minutes` in which the service is down does not count',
        }),
      ),
      approvals_missing: Type.Optional(
        Type.Integer({ description: 'how many further people must approve, if more than one must' }),
      ),
      phase: Type.Optional(Type.Literal(START_PHASE, { description: 'present while its start waits' })),
      timestamp: Timestamp,
    }),
  ),
)

export function presentHold({ by, reason, of, phase, missing, since_s: sinceS, ...wait }: UpgradeHold) {
  const untilS = Math.max(sinceS + (wait.wait_ms ?? 0) / 1000, wait.not_before_s ?? 0)
  return {
    by,
    reason,
    ...(of !== undefined && { phase_of: of }),
    ...(phase !== undefined && { phase }),
    ...(by === 'time' && { until: untilS }),
    ...(missing !== undefined && { approvals_missing: missing }),
    timestamp: sinceS,
  }
}

/** Published clients don't know `held`: for them a note explains why the upgrade waits. */
export function presentHeldNote(hold: UpgradeHold | null): { reason: string }[] {
  return hold === null ? [] : [{ reason: `held: ${hold.reason}` }]
}
