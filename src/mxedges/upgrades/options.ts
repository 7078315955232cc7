import { defaultRolloutOptions } from '../../rollout/rollout.ts'
import { answerLimitsMs } from '../commands/time-limits.ts'
import type { MxedgeUpgradeOptions } from './target.ts'

const MINUTE_MS = 60_000

/** As for devices; a machine takes longer than an access point to install a distribution and to boot. */
export const defaultMxedgeUpgradeOptions: MxedgeUpgradeOptions = {
  ...defaultRolloutOptions,
  answerMs: answerLimitsMs,
  reconnectMs: { service: 20 * MINUTE_MS, distro: 60 * MINUTE_MS },
}
