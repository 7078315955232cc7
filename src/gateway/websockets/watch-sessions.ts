import { closeCodes } from './close-codes.ts'
import type { FrameSession } from './frame-session.ts'
import { visitAll } from '../admission/visit-all.ts'

/** How long a session may be silent. */
export interface SilenceLimits {
  /** From our answer to the upgrade request to the device's hello. */
  readonly helloMs: number
  readonly pingMs: number
  /** A session without any sign of life for this long is closed. */
  readonly deadMs: number
}

/** Pings sessions and ends those that are dead, have not sent their hello in time or send too much. */
export function watchSessions(
  sessions: Iterable<FrameSession>,
  now: () => number,
  { helloMs, pingMs, deadMs }: SilenceLimits,
): Promise<void> {
  // A session that is heard during the visit counts as heard later than that.
  const nowMs = now()
  return visitAll(sessions, (session) => {
    session.look()
    if (!session.isConnected && nowMs - session.openedAtMs >= helloMs)
      session.closeWith(closeCodes.policy, 'the first message is late')
    else if (nowMs - session.heardAtMs >= deadMs && !session.isPaused) session.terminate()
    else if (nowMs - session.pingedAtMs >= pingMs) session.ping()
  })
}
