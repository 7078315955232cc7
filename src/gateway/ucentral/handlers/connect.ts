import type { DeviceFacts } from '../../../devices/device.ts'
import { typeOf, ucentralDriver } from '../driver.ts'
import type { Capabilities, Connect } from '../messages.ts'
import type { Session } from '../session.ts'
import { TELEMETRY_CALL_ID, telemetryOf } from '../telemetry.ts'
import { closeCodes } from '../../websockets/close-codes.ts'
import type { UcentralHost } from '../host.ts'

export async function onConnect(host: UcentralHost, session: Session, params: Connect): Promise<void> {
  const result = await host.connect(session, factsOf(params, session.address))
  if (result === 'replaced') return
  if (result === 'refused') {
    host.counters.add('refused_identity')
    const { mac, address } = session
    host.refusals.add({ protocol: 'ucentral', why: 'identity', address, mac })
    host.ctx.log.warn({ mac, address }, 'refused a device: its certificate is revoked, or an SSR router has its MAC')
    return session.closeWith(closeCodes.policy, 'the certificate is revoked, or an SSR router has this MAC')
  }
  session.call(TELEMETRY_CALL_ID, { method: 'telemetry', params: telemetryOf(session.mac) })
  host.lost.begin(session, params.capabilities)
}

/** Reasons to connect that reveal nothing about the last boot: a broken connection, and the watchdog of the client. */
const connections: ReadonlySet<string> = new Set(['socket', 'recovery'])

function factsOf({ firmware, capabilities, reason }: Connect, address: string | null): DeviceFacts {
  const serial = capabilities.serial_number
  return {
    firmware,
    model: capabilities.compatible,
    type: typeOf(capabilities),
    ...(serial !== undefined && { serial }),
    capabilities: ucentralDriver.capabilitiesOf(capabilities),
    members: membersOf(capabilities),
    reason: reason === undefined || connections.has(reason) ? null : reason,
    ext_ip: address,
  }
}

/** Copies only the known fields: any others are unbounded and would be stored. */
function membersOf({ 'x-signalbox': extension }: Capabilities): DeviceFacts['members'] {
  const members = extension?.members?.map(({ member, mac, serial, model, firmware }) => ({
    member,
    mac,
    serial,
    model,
    firmware,
  }))
  return members ?? null
}
