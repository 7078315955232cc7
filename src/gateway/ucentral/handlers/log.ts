import type { Log } from '../messages.ts'
import type { Session } from '../session.ts'
import type { HandlerHost } from './handler.ts'

const MAX_TEXT = 1000

export function onLog(host: HandlerHost, session: Session, { log, severity }: Log): void {
  host.ctx.log.debug({ mac: session.mac, severity, text: log.slice(0, MAX_TEXT) }, 'device log')
}
