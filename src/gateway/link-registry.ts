import type { DeviceLink } from './device-link.ts'

/** Holds the newest link of each device that is connected to this process. */
export interface LinkRegistry {
  /** Registers the link unless the device has a newer one; closes the older of the two. */
  attach(link: DeviceLink): void
  /** Removes the link unless another one has replaced it. */
  detach(link: DeviceLink): void
  find(deviceId: string): DeviceLink | undefined
  all(): Iterable<DeviceLink>
}

export function createLinkRegistry(): LinkRegistry {
  const links = new Map<string, DeviceLink>()
  return {
    attach(link) {
      const other = links.get(link.deviceId)
      if (other !== undefined && BigInt(other.epoch) > BigInt(link.epoch)) return link.close('replaced')
      links.set(link.deviceId, link)
      other?.close('replaced')
    },
    detach(link) {
      if (links.get(link.deviceId) === link) links.delete(link.deviceId)
    },
    find: (deviceId) => links.get(deviceId),
    all: () => links.values(),
  }
}
