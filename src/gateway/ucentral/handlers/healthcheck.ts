import type { Healthcheck } from '../messages.ts'
import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'
import { reportOf } from './report-of.ts'

export function onHealthcheck(host: LinkHost, session: Session, { sanity }: Healthcheck): Promise<void> | undefined {
  return host.report(reportOf(session, { load: { sanity_percent: sanity } }))
}
