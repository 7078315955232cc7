import type { DeviceFacts } from '../../../devices/device.ts'
import type { Capabilities, Connect } from '../messages.ts'
import type { Session } from '../session.ts'
import { TELEMETRY_CALL_ID, telemetryOf } from '../telemetry.ts'
import type { LinkHost } from '../../protocol.ts'

export async function onConnect(host: LinkHost, session: Session, params: Connect): Promise<void> {
  await host.connect(session, factsOf(params, session.address))
  session.call(TELEMETRY_CALL_ID, { method: 'telemetry', params: telemetryOf(session.mac) })
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
