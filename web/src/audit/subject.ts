import type { Schemas } from '../api/client.ts'

export type LogEntry = Schemas['AuditLog']

/** What a change is about, as far as it has a page. */
export type Subject =
  | { readonly kind: 'upgrade'; readonly id: string }
  | { readonly kind: 'webhook'; readonly id: string; readonly siteId: string | null }
  | { readonly kind: 'device'; readonly mac: string; readonly siteId: string }
  | { readonly kind: 'site'; readonly siteId: string }

type Named = Pick<LogEntry, 'device_id' | 'site_id' | 'before' | 'after'>

/**
 * Returns the subject of an entry; null if it has no page, or was deleted by this change. A device that
 * has left its site has none there.
 * @param isKnown Whether the site still exists.
 */
export function subjectOf(entry: Named, isKnown: (siteId: string) => boolean): Subject | null {
  const { device_id: deviceId, site_id: siteId, before, after } = entry
  const upgradeId = upgradeIdIn(after)
  if (upgradeId !== null) return { kind: 'upgrade', id: upgradeId }
  const isLost = siteId !== null && !isKnown(siteId)
  if (isLost) return null
  const webhookId = after?.['webhook_id']
  if (typeof webhookId === 'string') return { kind: 'webhook', id: webhookId, siteId }
  if (siteId === null || before?.['webhook_id'] !== undefined) return null
  const hasLeft = before?.['site_id'] === siteId && after?.['site_id'] !== siteId
  return deviceId === undefined || hasLeft
    ? { kind: 'site', siteId }
    : { kind: 'device', mac: deviceId.slice(-12), siteId }
}

/** Records of upgrades of edge appliances have the type of the change instead. */
function upgradeIdIn(after: Named['after']): string | null {
  const { upgrade_id: upgradeId, type, id } = after ?? {}
  if (typeof upgradeId === 'string') return upgradeId
  return typeof type === 'string' && type.startsWith('UPGRADE_') && typeof id === 'string' ? id : null
}
