import { type Static, Type } from 'typebox'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { AutoUpgradeState } from './auto-upgrade.ts'

export const AutoUpgradeReply = named(
  'AutoUpgradeState',
  Type.Object({
    enabled: Type.Boolean({ description: 'by the settings of the site, or else of its organization' }),
    next_time: Type.Optional(Timestamp),
    last_time: Type.Optional(Timestamp),
    upgrade_id: Type.Optional({ ...Uuid, description: 'of the last site upgrade that began' }),
    reason: Type.Optional(Type.String({ description: 'why none began at `last_time`' })),
  }),
)

export function presentAutoUpgrade({
  nextAt,
  lastAt,
  upgradeId,
  reason,
}: AutoUpgradeState): Static<typeof AutoUpgradeReply> {
  return {
    enabled: nextAt !== null,
    ...(nextAt !== null && { next_time: epochS(nextAt) }),
    ...(lastAt !== null && { last_time: epochS(lastAt) }),
    ...(upgradeId !== null && { upgrade_id: upgradeId }),
    ...(reason !== null && { reason }),
  }
}
