import type { LinkHost } from '../../protocol.ts'
import type { DeviceMessage, DeviceMethod } from '../messages.ts'
import type { Session } from '../session.ts'

export type Handler<M extends DeviceMethod> = (
  host: LinkHost,
  session: Session,
  params: DeviceMessage<M>,
) => Promise<void> | void
