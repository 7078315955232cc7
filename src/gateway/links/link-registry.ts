import type { Link } from './device-link.ts'

/** The newest link of each device that is connected to this process. */
export interface LinkRegistry<L extends Link> {
  /** Registers the link unless the device has a newer one; closes the older of the two. */
  attach(link: L): void
  /** Removes the link unless another one has replaced it. */
  detach(link: L): void
  find(deviceId: string): L | undefined
  all(): Iterable<L>
  count(): number
}

/** @param onReplaced Called when a newer link of a device replaces an open one. */
export function createLinkRegistry<L extends Link>(onReplaced: (link: L) => void): LinkRegistry<L> {
  const links = new Map<string, L>()
  return {
    attach(link) {
      const other = links.get(link.deviceId)
      if (other !== undefined && BigInt(other.epoch) > BigInt(link.epoch)) return link.close('replaced')
      links.set(link.deviceId, link)
      if (other === undefined) return
      other.close('replaced')
      onReplaced(link)
    },
    detach(link) {
      if (links.get(link.deviceId) === link) links.delete(link.deviceId)
    },
    find: (deviceId) => links.get(deviceId),
    all: () => links.values(),
    count: () => links.size,
  }
}
