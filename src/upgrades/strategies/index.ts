import type { RolloutStrategy } from '../../rollout/rollout.ts'
import { planBigBang } from './big-bang.ts'
import { planCanary } from './canary.ts'
import { planSerial } from './serial.ts'
import type { Strategy } from './strategy.ts'

export const strategies = {
  big_bang: planBigBang,
  canary: planCanary,
  serial: planSerial,
} satisfies Record<RolloutStrategy, Strategy>
