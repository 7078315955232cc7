import type { AdmissionLimits } from '../admission/admission.ts'

export interface NetconfLimits {
  readonly admission: AdmissionLimits
  /** How long a device may be silent before SSH while others wait for its place. */
  readonly silentMs: number
  /** The interval at which waiting connections are checked, while there are any. */
  readonly lookMs: number
  /** From the turn of a connection to the beginning of SSH. */
  readonly preambleMs: number
  /** From the turn of a connection until the device has identified itself. */
  readonly helloMs: number
  /** The interval at which an idle device is queried for its uptime and members. */
  readonly pollMs: number
  /** The same, for a device with a restarting member or node. */
  readonly returnPollMs: number
}

export const defaultLimits: NetconfLimits = {
  // A handshake takes several milliseconds of this process, of which RSA host keys take the most.
  admission: { perSecond: 100, burst: 100, handshakes: 100, waitMs: 30_000 },
  silentMs: 2000,
  lookMs: 10,
  preambleMs: 15_000,
  helloMs: 60_000,
  pollMs: 60_000,
  returnPollMs: 5000,
}
