import type { Session } from '../session.ts'
import type { HandlerHost } from './handler.ts'

/** For messages whose content is not kept: they show that the device is there. */
export function onSignOfLife(host: HandlerHost, session: Session): Promise<void> | undefined {
  return host.report({
    deviceId: session.deviceId,
    epoch: session.epoch,
    load: {},
    uptimeS: null,
    boot: null,
    firmware: null,
  })
}
