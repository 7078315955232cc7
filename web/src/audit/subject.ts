import type { Schemas } from '../api/client.ts'

export type LogEntry = Schemas['AuditLog']

/** What a change is about, as far as it has a page. */
export type Subject =
  | { readonly kind: 'upgrade' | 'appliance'; readonly id: string }
  | { readonly kind: 'webhook'; readonly id: string; readonly siteId: string | null }
  | { readonly kind: 'device'; readonly mac: string; readonly siteId: string }
  | { readonly kind: 'map'; readonly id: string; readonly siteId: string }
  | { readonly kind: 'site'; readonly siteId: string }
  | { readonly kind: 'firmware' }

type Named = Pick<LogEntry, 'message' | 'device_id' | 'site_id' | 'before' | 'after'>

/** Records of these have fields of any name, such as `upgrade_id`. Only messages distinguish them from others. */
const openRecord = /^(?:Add|Update|Delete) (Org|Site|Map|edge appliance cluster)\b/

/** Records of appliances have fields of any name besides `mxedge_id`, and those of webhooks besides `webhook_id`. */
const applianceRecord = /^(?:Add|Update|Delete) edge appliance "/

/**
 * Returns the subject of an entry; null if it has no page, or was deleted by this change. A device that
 * has left its site has none there.
 * @param isKnown Whether the site still exists.
 */
export function subjectOf(entry: Named, isKnown: (siteId: string) => boolean): Subject | null {
  const { message, device_id: deviceId, site_id: siteId, before, after } = entry
  const isLost = siteId !== null && !isKnown(siteId)
  const [, openKind] = openRecord.exec(message) ?? []
  // A device and a webhook may have fields of any name, too.
  if (openKind === undefined && deviceId === undefined) {
    if (!applianceRecord.test(message)) {
      const webhookId = textIn(after, 'webhook_id')
      if (webhookId !== null) return isLost ? null : { kind: 'webhook', id: webhookId, siteId }
      if (before?.['webhook_id'] !== undefined) return null
    }
    const subject = subjectOfOrg(after)
    if (subject !== null) return subject
  }
  if (siteId === null || isLost) return null
  const hasLeft = before?.['site_id'] === siteId && after?.['site_id'] !== siteId
  if (deviceId !== undefined)
    return hasLeft ? { kind: 'site', siteId } : { kind: 'device', mac: deviceId.slice(-12), siteId }
  const mapId = openKind === 'Site' ? null : textIn(after, 'map_id')
  return mapId === null ? { kind: 'site', siteId } : { kind: 'map', id: mapId, siteId }
}

/** Returns the subject of what belongs to the organization; an appliance may have fields of any name, such as `upgrade_id`. */
function subjectOfOrg(after: Named['after']): Subject | null {
  const mxedgeId = textIn(after, 'mxedge_id') ?? onlyMxedgeIn(after)
  if (mxedgeId !== null) return { kind: 'appliance', id: mxedgeId }
  const upgradeId = upgradeIdIn(after)
  if (upgradeId !== null) return { kind: 'upgrade', id: upgradeId }
  return textIn(after, 'sha256') !== null && textIn(after, 'version') !== null ? { kind: 'firmware' } : null
}

function textIn(fields: Named['after'], name: string): string | null {
  const value = fields?.[name]
  return typeof value === 'string' ? value : null
}

/** Records of upgrades of edge appliances have the type of the change instead. */
function upgradeIdIn(after: Named['after']): string | null {
  const type = textIn(after, 'type')
  return textIn(after, 'upgrade_id') ?? (type?.startsWith('UPGRADE_') ? textIn(after, 'id') : null)
}

/** Appliances are assigned to a site by one record. */
function onlyMxedgeIn(after: Named['after']): string | null {
  const mxedges: unknown = after?.['mxedges']
  if (!Array.isArray(mxedges) || mxedges.length !== 1) return null
  // A site may have a field of this name with any value.
  const [mxedge] = mxedges as [{ readonly id?: unknown } | null]
  return typeof mxedge?.id === 'string' ? mxedge.id : null
}
