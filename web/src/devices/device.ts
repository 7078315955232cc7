import type { Tone } from '../display/tone.ts'

export type DeviceType = 'ap' | 'switch' | 'gateway'

export const deviceTypes: Readonly<Record<DeviceType, { readonly one: string; readonly many: string }>> = {
  ap: { one: 'access point', many: 'access points' },
  switch: { one: 'switch', many: 'switches' },
  gateway: { one: 'gateway', many: 'gateways' },
}

/** Returns the id of the device with a MAC address. Source: interface, "Devices". */
export function deviceIdOf(mac: string): string {
  return `00000000-0000-0000-1000-${mac}`
}

/** Returns a MAC address as people write it. */
export function macText(mac: string): string {
  return mac.match(/.{2}/g)?.join(':') ?? mac
}

export interface StateWords {
  readonly tone: Tone
  readonly text: string
}

/** Returns the state of a device in words: a running upgrade is more informative than the connection. */
export function stateOf(status: string, upgradeStep: string | null): StateWords {
  if (upgradeStep !== null) return { tone: 'busy', text: upgradeStep }
  return status === 'connected' ? { tone: 'good', text: 'Connected' } : { tone: 'bad', text: 'Disconnected' }
}
