import type { DeviceFacts } from '../../../devices/device.ts'
import type { Connect } from '../messages.ts'
import type { Session } from '../session.ts'
import type { HandlerHost } from './handler.ts'

/** The session exists from here on: for the database, for commands and for other connections of the device. */
export async function onConnect(host: HandlerHost, session: Session, params: Connect): Promise<void> {
  const { epoch } = await host.connect({ mac: session.mac, facts: factsOf(params, session.address) })
  session.epoch = epoch
  host.attach(session)
  host.dispatcher.kick()
}

function factsOf({ firmware, capabilities, reason }: Connect, address: string | null): DeviceFacts {
  const { compatible, model, platform, serial_number: serial, 'x-signalbox': extension } = capabilities
  return {
    firmware,
    model: compatible,
    // Old access point firmwares do not say what they are.
    type: platform ?? 'ap',
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
