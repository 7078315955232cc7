import type { LinkHost } from '../protocol.ts'
import type { Session } from './session.ts'
import { TELEMETRY_INTERVAL_S } from './telemetry.ts'

/** Reports that a device may miss before it is named in the log. */
const UPTIME_INTERVALS = 5

/**
 * An access point without an active configuration can't read its state, so it reports no uptime and little proves
 * its boots: the operator and the organization have to know.
 */
export function warnOfMissingUptimes(host: LinkHost, sessions: Iterable<Session>): void {
  const nowMs = host.now()
  for (const session of sessions) {
    if (session.uptime !== 'awaited' || !session.isServed) continue
    if (nowMs - session.openedAtMs < UPTIME_INTERVALS * TELEMETRY_INTERVAL_S * 1000) continue
    session.uptime = 'missed'
    host.onTrouble(session, 'DEVICE_UPTIME_MISSING')
    host.ctx.log.warn({ mac: session.mac }, 'reports no uptime, so its boots may go unnoticed; has it a configuration?')
  }
}
