import type { OpenedSession, SessionOpening } from '../../../devices/sessions/store.ts'
import type { SessionReport } from '../../../devices/stats/record-report.ts'
import type { Context } from '../../../platform/context.ts'
import type { Dispatcher } from '../../dispatcher.ts'
import type { DeviceMessage, DeviceMethod } from '../messages.ts'
import type { Session } from '../session.ts'

/** The parts of the gateway that handlers use. */
export interface HandlerHost {
  readonly ctx: Context
  readonly dispatcher: Dispatcher
  /** Commits the connection, together with others that arrived at the same time. */
  readonly connect: (opening: SessionOpening) => Promise<OpenedSession>
  /** Commits a device's report. If it returns a promise, the session must wait for it. */
  readonly report: (report: SessionReport) => Promise<void> | undefined
  /** Registers a session that is in the database as its device's session. */
  readonly attach: (session: Session) => void
}

export type Handler<M extends DeviceMethod> = (
  host: HandlerHost,
  session: Session,
  params: DeviceMessage<M>,
) => Promise<void> | void
