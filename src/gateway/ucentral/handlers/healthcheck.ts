import type { Healthcheck } from '../messages.ts'
import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'

export function onHealthcheck(host: LinkHost, session: Session, { sanity }: Healthcheck): Promise<void> | undefined {
  return host.report({
    deviceId: session.deviceId,
    epoch: session.epoch,
    load: { sanity_percent: sanity },
    uptimeS: null,
    boot: null,
    firmware: null,
  })
}
