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
  return [...Map.groupBy(skipped, ({ reason }) => reason)].map(([reason, some]) => {
    const { total, macs } = presentMacs(some.map(({ mac }) => mac))
    return { reason, total, macs }
  })
}
