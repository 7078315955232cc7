import { type Static, Type } from 'typebox'
import { plainMac } from '../../devices/device.ts'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import type { Retry } from './retry-org-upgrade.ts'
import { SkippedReply, presentSkipped } from './wire-skipped.ts'

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
    skipped: SkippedReply,
  }),
)

/** @returns The MACs as the service stores them; null: all failed devices. */
export function parseRetry({ macs }: Static<typeof RetryBody>): readonly string[] | null {
  return macs === undefined ? null : macs.map(plainMac)
}

export function presentRetry({ retried, skipped }: Retry): Static<typeof RetryReply> {
  return { retried, skipped: presentSkipped(skipped) }
}
