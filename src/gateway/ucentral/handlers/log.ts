import { deviceText } from '../../device-text.ts'
import type { Log } from '../messages.ts'
import type { Session } from '../session.ts'
import type { HandlerHost } from './handler.ts'

export function onLog(host: HandlerHost, session: Session, { log, severity }: Log): void {
  host.ctx.log.debug({ mac: session.mac, severity, text: deviceText(log) }, 'device log')
}
