import type { SessionReport } from '../../../devices/stats/record-report.ts'
import type { Session } from '../session.ts'

type Reported = Partial<Omit<SessionReport, 'deviceId' | 'epoch'>>

/** Returns a report of the session's device. Facts that `reported` leaves out are unknown. */
export function reportOf({ deviceId, epoch }: Session, reported: Reported = {}): SessionReport {
  return { deviceId, epoch, load: {}, uptimeS: null, boot: null, firmware: null, telemetry: null, ...reported }
}
