import type { AdmissionLimits } from '../admission.ts'

export interface NetconfLimits {
  readonly admission: AdmissionLimits
  /** How long a device may be silent before SSH while others wait for its place. */
  readonly silentMs: number
  /** How often waiting connections are checked, while there are any. */
  readonly lookMs: number
  /** From the turn of a connection to the beginning of SSH. */
  readonly preambleMs: number
  /** From the turn of a connection until the device has said who it is. */
  readonly helloMs: number
  /** How often an idle device is asked for its uptime and members. */
  readonly pollMs: number
  /** The same, of a device of which a member or node restarts. */
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
