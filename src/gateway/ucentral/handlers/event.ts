import { type DeviceEvent, isUpgradeStatus } from '../messages.ts'
import type { Session } from '../session.ts'
import type { HandlerHost } from './handler.ts'

/** The device's own time in the event is not used: its clock may be anywhere. */
export function onEvent(host: HandlerHost, session: Session, { data }: DeviceEvent): Promise<void> | undefined {
  const [, { type, payload }] = data.event
  host.dispatcher.onEvent(session, { type, payload })
  if (type !== 'firmware_upgrade_status' || !isUpgradeStatus(payload)) return
  const { operation, percentage } = payload
  return host.report({
    deviceId: session.deviceId,
    epoch: session.epoch,
    load: {},
    uptimeS: null,
    firmware: { operation, percent: percentage ?? null },
  })
}
