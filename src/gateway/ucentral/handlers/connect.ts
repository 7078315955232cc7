import type { DeviceFacts } from '../../../devices/device.ts'
import type { Capabilities, Connect } from '../messages.ts'
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
  const { compatible, model, platform, serial_number: serial } = capabilities
  const extension = extensionOf(capabilities)
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

/** What we know of it and no more: the rest has no bound, and would be stored. */
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
