import type { AdmissionLimits } from '../admission/admission.ts'
import type { ArrivalTimes } from '../admission/arrivals.ts'
import type { SilenceLimits } from '../websockets/watch-sessions.ts'

export interface EdgeLimits extends ArrivalTimes, SilenceLimits {
  readonly admission: AdmissionLimits
  /** A certificate that expires sooner is renewed. */
  readonly renewBeforeMs: number
}

export const defaultLimits: EdgeLimits = {
  admission: { perSecond: 300, burst: 600, handshakes: 128, waitMs: 20_000 },
  // Long enough for agents that are switched off for most of a year.
  renewBeforeMs: 365 * 24 * 3_600_000,
  silentMs: 2000,
  lookMs: 10,
  upgradeMs: 20_000,
  answerMs: 10_000,
  helloMs: 30_000,
  pingMs: 50_000,
  deadMs: 150_000,
}
