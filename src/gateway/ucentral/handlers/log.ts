import { deviceText } from '../../device-text.ts'
import type { Log } from '../messages.ts'
import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'

export function onLog(host: LinkHost, session: Session, { log, severity }: Log): void {
  host.ctx.log.debug({ mac: session.mac, severity, text: deviceText(log) }, 'device log')
}
