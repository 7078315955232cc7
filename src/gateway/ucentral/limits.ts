import type { AdmissionLimits } from '../admission/admission.ts'
import type { ArrivalTimes } from '../admission/arrivals.ts'
import type { SilenceLimits } from '../websockets/watch-sessions.ts'

export interface UcentralLimits extends ArrivalTimes, SilenceLimits {
  readonly admission: AdmissionLimits
}

export const defaultLimits: UcentralLimits = {
  // Clients allow 30 s for the whole TLS handshake.
  admission: { perSecond: 300, burst: 600, handshakes: 128, waitMs: 20_000 },
  silentMs: 2000,
  lookMs: 10,
  upgradeMs: 20_000,
  // Access points wait 5 s for it.
  answerMs: 4000,
  helloMs: 30_000,
  // Access points close the connection when they receive nothing from us for 70 s.
  pingMs: 50_000,
  deadMs: 150_000,
}
