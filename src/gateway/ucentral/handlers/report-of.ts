import type { SessionReport } from '../../../devices/stats/record-report.ts'
import type { Session } from '../session.ts'

type Told = Partial<Omit<SessionReport, 'deviceId' | 'epoch'>>

/** A report of the session's device; what is not told is not known. */
export function reportOf({ deviceId, epoch }: Session, told: Told = {}): SessionReport {
  return { deviceId, epoch, load: {}, uptimeS: null, boot: null, firmware: null, telemetry: null, ...told }
}
