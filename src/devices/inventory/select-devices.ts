import { parseMac } from '../device.ts'

/** The reason why a name or a claim code is refused that nothing has. */
export const NOT_FOUND = 'not found'

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

/** The names of a device. */
export interface Labeled {
  readonly id: string
  /** Null, as the serial: it has no label, so no name finds it. */
  readonly mac: string | null
  readonly serial: string | null
}

export interface Selection<T extends Labeled> {
  /** One entry per device, with the first name that the client gave it. */
  readonly found: readonly { readonly name: string; readonly device: T }[]
  readonly refused: readonly { readonly name: string; readonly reason: string }[]
}

/** Normalizes the names as the database stores them; malformed MACs are left out. */
export function plainNames({ macs, serials }: DeviceNames): DeviceNames {
  return { macs: macs.flatMap((mac) => parseMac(mac) ?? []), serials }
}

/** Matches names with devices. A device that is named twice, by MAC and by serial, counts once. */
export function selectDevices<T extends Labeled>({ macs, serials }: DeviceNames, devices: readonly T[]): Selection<T> {
  const byMac = new Map<string | null, T>(devices.map((device) => [device.mac, device]))
  const bySerial = new Map<string | null, T>(devices.map((device) => [device.serial, device]))
  const named = [
    ...macs.map((name) => ({
      name,
      device: byMac.get(parseMac(name) ?? ''),
      unknown: parseMac(name) === null ? 'invalid mac' : NOT_FOUND,
    })),
    ...serials.map((name) => ({ name, device: bySerial.get(name), unknown: NOT_FOUND })),
  ]
  const found = new Map<string, { name: string; device: T }>()
  const refused: { name: string; reason: string }[] = []
  for (const { name, device, unknown } of named) {
    if (device === undefined) refused.push({ name, reason: unknown })
    else if (!found.has(device.id)) found.set(device.id, { name, device })
  }
  return { found: [...found.values()], refused }
}

/**
 * Replaces the refusals of unknown names by the refusals of another kind of hardware. A name that the other kind did
 * not refuse belongs to it.
 */
export function settleUnknown<T extends { readonly reason: string }>(
  refused: readonly T[],
  byOthers: readonly T[],
  nameOf: (item: T) => string,
): T[] {
  const others = new Map(byOthers.map((item) => [nameOf(item), item]))
  return refused.flatMap((item) => (item.reason === NOT_FOUND ? (others.get(nameOf(item)) ?? []) : item))
}
