import type { WifiScan } from '../messages.ts'
import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'
import { decodeScan } from '../state/decode-scan.ts'
import { reportOf } from './report-of.ts'

/** A report of the state replaces the one before as a whole, so the scan waits for the next one. */
export function onWifiScan(host: LinkHost, session: Session, { data }: WifiScan): Promise<void> | undefined {
  session.scan = decodeScan(data)
  return host.report(reportOf(session))
}
