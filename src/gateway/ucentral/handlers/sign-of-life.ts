import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'
import { reportOf } from './report-of.ts'

/** Handles messages whose content is not stored: they only prove that the device is alive. */
export function onSignOfLife(host: LinkHost, session: Session): Promise<void> | undefined {
  return host.report(reportOf(session))
}
