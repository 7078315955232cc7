import type { LinkHost } from '../protocol.ts'
import { closeCodes } from '../websockets/close-codes.ts'
import { handleMessage } from './handlers/index.ts'
import type { UcentralHost } from './host.ts'
import { isDeviceMethod } from './messages.ts'
import type { DeviceCall } from '../websockets/frame-session.ts'
import type { Session } from './session.ts'

type Oddity = 'unknown_method' | 'invalid_message' | 'unknown_reply' | 'repeated_connect' | 'malformed_frame'

/** Counts a dropped message and warns once per session, because a firmware with a quirk would flood the log. */
export function dropMessage(
  { ctx, counters }: LinkHost,
  session: Session,
  { what, detail }: { what: Oddity; detail: string },
): void {
  counters.add(what)
  ctx.log[session.isOdd ? 'debug' : 'warn'](
    { mac: session.mac, what, detail: detail.slice(0, 200) },
    'dropped what a device sent',
  )
  session.isOdd = true
}

/** Applies the rules for every device message before its handler runs. Never rejects. */
export async function receiveCall(host: UcentralHost, session: Session, { method, params }: DeviceCall): Promise<void> {
  if (!isDeviceMethod(method)) return dropMessage(host, session, { what: 'unknown_method', detail: method })
  const { serial } = params
  // The certificate identifies the device; one that claims to be another device is not served at all.
  if (typeof serial === 'string' && serial.toLowerCase() !== session.mac) {
    return disconnect(host, session, { what: 'wrong_serial', reason: 'serial differs from certificate' })
  }
  if (!session.isConnected && method !== 'connect') {
    return disconnect(host, session, { what: 'not_connected', reason: 'connect must come first' })
  }
  if (session.isConnected && method === 'connect') {
    return dropMessage(host, session, { what: 'repeated_connect', detail: '' })
  }
  try {
    if (await handleMessage(host, session, { method, params })) return
    dropMessage(host, session, { what: 'invalid_message', detail: method })
    if (method === 'connect') session.closeWith(closeCodes.policy, "connect can't be understood")
  } catch (error) {
    host.counters.add('message_failed')
    host.ctx.log[host.failureLevel(error)]({ err: error, mac: session.mac, method }, 'a message could not be handled')
    if (method === 'connect') session.close('try_again')
  }
}

function disconnect(
  { ctx, counters }: LinkHost,
  session: Session,
  { what, reason }: { what: 'wrong_serial' | 'not_connected'; reason: string },
): void {
  counters.add(what)
  ctx.log.warn({ mac: session.mac, address: session.address, what }, 'closed a session')
  session.closeWith(closeCodes.policy, reason)
}
