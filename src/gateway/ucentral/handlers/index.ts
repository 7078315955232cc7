import { type DeviceMethod, isDeviceMessage } from '../messages.ts'
import type { Session } from '../session.ts'
import { onConfigVersions } from './config-versions.ts'
import { onConnect } from './connect.ts'
import { onEvent } from './event.ts'
import type { UcentralHost } from '../host.ts'
import type { Handler } from './handler.ts'
import { onHealthcheck } from './healthcheck.ts'
import { onLog } from './log.ts'
import { onRecovery } from './recovery.ts'
import { onSignOfLife } from './sign-of-life.ts'
import { onState, onTelemetry } from './state.ts'
import { onWifiScan } from './wifi-scan.ts'

const handlers: { readonly [M in DeviceMethod]: Handler<M> } = {
  connect: onConnect,
  state: onState,
  healthcheck: onHealthcheck,
  log: onLog,
  event: onEvent,
  recovery: onRecovery,
  ping: onConfigVersions,
  alarm: onSignOfLife,
  telemetry: onTelemetry,
  wifiscan: onWifiScan,
  deviceupdate: onSignOfLife,
  cfgpending: onConfigVersions,
  crashlog: onSignOfLife,
  rebootLog: onSignOfLife,
  venue_broadcast: onSignOfLife,
}

export interface Incoming<M extends DeviceMethod> {
  readonly method: M
  readonly params: unknown
}

/** Resolves with false, and does nothing, when the params do not have the method's shape. */
export async function handleMessage<M extends DeviceMethod>(
  host: UcentralHost,
  session: Session,
  { method, params }: Incoming<M>,
): Promise<boolean> {
  if (!isDeviceMessage(method, params)) return false
  await handlers[method](host, session, params)
  return true
}
