import { counted } from '../../display/texts/counted.ts'
import type { Effect } from '../../display/forms/effect.ts'
import { type DeviceType, deviceTypes, macText } from '../device.ts'

export interface RestartedDevice {
  readonly name: string
  readonly mac: string
  readonly type: DeviceType
}

interface Cut {
  /** Null: the device has not reported them. */
  readonly clients: number | null
  readonly members: number
}

export const nameOf = ({ name, mac }: Pick<RestartedDevice, 'name' | 'mac'>): string =>
  name === '' ? macText(mac) : name

/** Returns the effect of restarting the whole device, without its consequences. */
export function restartOf(device: RestartedDevice, { members }: Cut): Effect {
  const counts: Effect['counts'] =
    members > 1 ? [{ count: members, one: 'member' }] : [{ count: 1, ...deviceTypes[device.type] }]
  return { does: 'Restarts', counts, name: nameOf(device) }
}

export function clientText(clients: number | null): string | null {
  return clients === null || clients === 0 ? null : `Disconnects ${counted(clients, 'client')}.`
}

/** Returns the effect of restarting a device, or the part of it that `part` names: a member, or a node of a cluster. */
export function restartEffect(device: RestartedDevice, cut: Cut & { readonly part: string }): Effect {
  const { part } = cut
  if (part === '')
    return {
      ...restartOf(device, cut),
      consequences: [clientText(cut.clients), 'It is away until it has started again, usually for some minutes.'],
    }
  const one = part.startsWith('node') ? 'node' : 'member'
  const which = part.startsWith('node') ? part : `member ${part}`
  return {
    does: 'Restarts',
    counts: [{ count: 1, one }],
    name: `${which} of ${nameOf(device)}`,
    consequences: [one === 'node' ? 'The other node keeps running.' : `The other members keep running.`],
  }
}
