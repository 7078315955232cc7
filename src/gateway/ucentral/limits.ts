import type { AdmissionLimits } from '../admission.ts'

export interface UcentralLimits {
  readonly admission: AdmissionLimits
  /** How often new connections are checked, while there are any. */
  readonly lookMs: number
  /** From the beginning of TLS to the request for a WebSocket. */
  readonly upgradeMs: number
  /** From the arrival of that request to our answer: access points wait 5 s for it. */
  readonly answerMs: number
  /** From our answer to the `connect` message. */
  readonly helloMs: number
  readonly pingMs: number
  /** A session without any sign of life for this long is closed. */
  readonly deadMs: number
}

export const defaultLimits: UcentralLimits = {
  // Clients allow 30 s for the whole TLS handshake.
  admission: { perSecond: 300, burst: 600, handshakes: 200, waitMs: 20_000 },
  lookMs: 10,
  upgradeMs: 20_000,
  answerMs: 4000,
  helloMs: 30_000,
  // Access points hang up when they hear nothing from us for 70 s.
  pingMs: 50_000,
  deadMs: 150_000,
}
