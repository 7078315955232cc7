import type { EventDevice } from '../../events/append.ts'
import type { ClaimedStatus } from './store.ts'

export function eventDevice(status: ClaimedStatus): EventDevice {
  const { deviceId, mac, type, name, siteId, siteName, firmware } = status
  return { id: deviceId, mac, type, name, siteId, siteName, firmware }
}

/** Events are written one organization at a time; the gateway's batches span several. */
export function groupByOrg<T extends { readonly orgId: string }>(items: readonly T[]): Map<string, T[]> {
  return Map.groupBy(items, ({ orgId }) => orgId)
}
