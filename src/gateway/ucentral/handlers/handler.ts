import type { OpenedSession, SessionOpening } from '../../../devices/sessions/store.ts'
import type { SessionReport } from '../../../devices/stats/record-report.ts'
import type { Context } from '../../../platform/context.ts'
import type { Dispatcher } from '../../dispatcher.ts'
import type { DeviceMessage, DeviceMethod } from '../messages.ts'
import type { Session } from '../session.ts'

/** What handlers need of the gateway. */
export interface HandlerHost {
  readonly ctx: Context
  readonly dispatcher: Dispatcher
  /** Commits the connection, together with others that came at the same time. */
  readonly connect: (opening: SessionOpening) => Promise<OpenedSession>
  /** Commits what a device reports. Unless a promise is answered, the session may go on meanwhile. */
  readonly report: (report: SessionReport) => Promise<void> | undefined
  /** The session is in the database: make it the one of its device. */
  readonly attach: (session: Session) => void
}

export type Handler<M extends DeviceMethod> = (
  host: HandlerHost,
  session: Session,
  params: DeviceMessage<M>,
) => Promise<void> | void
