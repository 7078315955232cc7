import { type Static, Type } from 'typebox'
import { plainMac } from '../../devices/device.ts'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { MAX_NAMED, presentMacs } from '../../rollout/events/present-named.ts'
import type { NotRetried, Retry } from './retry-org-upgrade.ts'

/** An empty list would retry nothing; without the list all failed devices are retried. */
export const RetryBody = named(
  'UpgradeRetryCreate',
  Type.Object({
    macs: Type.Optional(Type.Array(textOf('mac'), { minItems: 1, maxItems: 10_000 })),
  }),
)

export const RetryReply = named(
  'UpgradeRetry',
  Type.Object({
    retried: Type.Integer({ description: 'How many devices are retried' }),
    skipped: Type.Array(
      Type.Object({
        reason: Type.String(),
        total: Type.Integer(),
        macs: Type.Array(Type.String(), { description: `The first ${MAX_NAMED} of them` }),
      }),
    ),
  }),
)

/** @returns The MACs as the service stores them; null: all failed devices. */
export function parseRetry({ macs }: Static<typeof RetryBody>): readonly string[] | null {
  return macs === undefined ? null : macs.map(plainMac)
}

export function presentRetry({ retried, skipped }: Retry): Static<typeof RetryReply> {
  const byReason = [...Map.groupBy(skipped, ({ reason }: NotRetried) => reason)]
  return {
    retried,
    skipped: byReason.map(([reason, some]) => {
      const { total, macs } = presentMacs(some.map(({ mac }) => mac))
      return { reason, total, macs }
    }),
  }
}
