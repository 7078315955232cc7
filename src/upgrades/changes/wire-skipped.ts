import { type Static, Type } from 'typebox'
import { MAX_NAMED, presentMacs } from '../../rollout/events/present-named.ts'
import type { SkippedDevice } from './skipped-device.ts'

/** The devices that a change leaves as they are, by reason. */
export const SkippedReply = Type.Array(
  Type.Object({
    reason: Type.String(),
    total: Type.Integer(),
    macs: Type.Array(Type.String(), { description: `The first ${MAX_NAMED} of them` }),
  }),
)

export function presentSkipped(skipped: readonly SkippedDevice[]): Static<typeof SkippedReply> {
  return presentByReason(skipped, (some) => presentMacs(some.map(({ mac }) => mac)))
}

/** Presents what a change leaves as it is, by reason. @param presentSome Presents those of one reason. */
export function presentByReason<Skipped extends { readonly reason: string }, Some extends object>(
  skipped: readonly Skipped[],
  presentSome: (some: readonly Skipped[]) => Some,
): (Some & { reason: string })[] {
  const byReason = Map.groupBy(skipped, ({ reason }) => reason)
  return [...byReason].map(([reason, some]) => Object.assign({ reason }, presentSome(some)))
}
