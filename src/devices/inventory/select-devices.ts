import { parseMac } from '../device.ts'
import type { Device } from '../store.ts'

/** Devices as a client names them. */
export interface DeviceNames {
  readonly macs: readonly string[]
  readonly serials: readonly string[]
}

/** The result for each name: parallel lists on the wire. */
export interface ChangeReport {
  /** Names, as the client wrote them. */
  readonly success: readonly string[]
  readonly refused: readonly { readonly name: string; readonly reason: string }[]
}

export interface Selection {
  /** One entry per device, with the first name that the client gave it. */
  readonly found: readonly { readonly name: string; readonly device: Device }[]
  readonly refused: readonly { readonly name: string; readonly reason: string }[]
}

/** Normalizes the names as the database stores them; malformed MACs are left out. */
export function plainNames({ macs, serials }: DeviceNames): DeviceNames {
  return { macs: macs.flatMap((mac) => parseMac(mac) ?? []), serials }
}

/** Matches names with devices. A device that is named twice, by MAC and by serial, counts once. */
export function selectDevices({ macs, serials }: DeviceNames, devices: readonly Device[]): Selection {
  const byMac = new Map(devices.map((device) => [device.mac, device]))
  const bySerial = new Map(devices.map((device) => [device.serial, device]))
  const named = [
    ...macs.map((name) => ({
      name,
      device: byMac.get(parseMac(name) ?? ''),
      unknown: parseMac(name) === null ? 'invalid mac' : 'not found',
    })),
    ...serials.map((name) => ({ name, device: bySerial.get(name), unknown: 'not found' })),
  ]
  const found = new Map<string, { name: string; device: Device }>()
  const refused: { name: string; reason: string }[] = []
  for (const { name, device, unknown } of named) {
    if (device === undefined) refused.push({ name, reason: unknown })
    else if (!found.has(device.id)) found.set(device.id, { name, device })
  }
  return { found: [...found.values()], refused }
}
