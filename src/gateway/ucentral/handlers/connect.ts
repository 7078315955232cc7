import type { DeviceFacts } from '../../../devices/device.ts'
import { TELEMETRY_CALL_ID } from '../call-ids.ts'
import type { Capabilities, Connect, GatewayCall } from '../messages.ts'
import type { Session } from '../session.ts'
import type { HandlerHost } from './handler.ts'

/** Makes the session known to the database, to the dispatcher and to the registry. */
export async function onConnect(host: HandlerHost, session: Session, params: Connect): Promise<void> {
  const { epoch } = await host.connect({ mac: session.mac, facts: factsOf(params, session.address) })
  session.epoch = epoch
  host.attach(session)
  session.send(TELEMETRY_CALL_ID, { method: 'telemetry', params: telemetryOf(session.mac) })
  host.dispatcher.kick()
}

/** A device without a configuration reports its state and uptime only on request. */
export const TELEMETRY_INTERVAL_S = 60

function telemetryOf(serial: string): GatewayCall<'telemetry'> {
  return { serial, interval: TELEMETRY_INTERVAL_S, types: ['state'] }
}

function factsOf({ firmware, capabilities, reason }: Connect, address: string | null): DeviceFacts {
  const { compatible, model, platform, serial_number: serial } = capabilities
  const extension = extensionOf(capabilities)
  return {
    firmware,
    model: compatible,
    // Some access points do not name their platform.
    type: platform?.toLowerCase() === 'switch' ? 'switch' : 'ap',
    ...(serial !== undefined && { serial }),
    capabilities: {
      compatible,
      ...(model !== undefined && { model }),
      ...(platform !== undefined && { platform }),
      ...(extension !== undefined && { 'x-signalbox': extension }),
    },
    members: extension?.members ?? null,
    reason: reason ?? null,
    ext_ip: address,
  }
}

/** Copies only the known fields: any others are unbounded and would be stored. */
function extensionOf({ 'x-signalbox': extension }: Capabilities): Capabilities['x-signalbox'] {
  if (extension === undefined) return undefined
  const { protocol, methods } = extension
  const members = extension.members?.map(({ member, mac, serial, model, firmware }) => ({
    member,
    mac,
    serial,
    model,
    firmware,
  }))
  return { protocol, methods, ...(members !== undefined && { members }) }
}
