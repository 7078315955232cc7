import type { UcentralHost } from '../host.ts'
import type { DeviceMessage, DeviceMethod } from '../messages.ts'
import type { Session } from '../session.ts'

export type Handler<M extends DeviceMethod> = (
  host: UcentralHost,
  session: Session,
  params: DeviceMessage<M>,
) => Promise<void> | void
