import type { AdmissionLimits } from './admission.ts'

export interface Limits {
  readonly admission: AdmissionLimits
  /** How often new connections are looked at, while there are any. */
  readonly lookMs: number
  /** How often sessions are looked after and queued commands looked for. */
  readonly tickMs: number
  /** How often the database is looked after: leases, lost devices, expired commands. */
  readonly sweepMs: number
  /** From the beginning of TLS to the request for a WebSocket. */
  readonly upgradeMs: number
  /** From the arrival of that request to our answer: access points wait 5 s for it. */
  readonly answerMs: number
  /** From then to the `connect` message. */
  readonly helloMs: number
  readonly pingMs: number
  /** Without any sign of life. */
  readonly deadMs: number
  /** Connections, reports or commands that one transaction takes. */
  readonly batchSize: number
}

export const defaultLimits: Limits = {
  // Clients allow 30 s for TLS to begin and end.
  admission: { perSecond: 300, burst: 600, handshakes: 200, waitMs: 20_000 },
  tickMs: 1000,
  sweepMs: 5000,
  lookMs: 10,
  upgradeMs: 20_000,
  answerMs: 4000,
  helloMs: 30_000,
  // Access points hang up after 70 s without a sign of ours.
  pingMs: 50_000,
  deadMs: 150_000,
  batchSize: 200,
}
