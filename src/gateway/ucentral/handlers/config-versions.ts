import type { ConfigVersions } from '../messages.ts'
import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'
import { reportOf } from './report-of.ts'

/** Records which configuration the device has applied, and which one it has received last. */
export function onConfigVersions(
  host: LinkHost,
  session: Session,
  { uuid: latest, active = latest }: ConfigVersions,
): Promise<void> | undefined {
  const isKnown = isVersion(latest) && isVersion(active)
  return host.report(reportOf(session, isKnown ? { load: { config_version: active, config_latest: latest } } : {}))
}

function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
