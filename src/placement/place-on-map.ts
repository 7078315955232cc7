import type { SiteScope } from '../access/scope.ts'
import { plainMac } from '../devices/device.ts'
import { appendAudit } from '../events/append.ts'
import type { Context } from '../platform/context.ts'
import { inTx } from '../platform/database/db.ts'
import { invalidField, notFound } from '../platform/errors.ts'
import { titleOf } from '../maps/map.ts'
import { shareMapOfSite } from '../maps/store.ts'
import { lockSiteDevices, placeDevices } from '../devices/store-placement.ts'
import { withoutUndefined } from '../platform/records.ts'

export interface MapSetting {
  readonly mapId: string
  readonly macs: readonly string[]
}

/** MACs in lower case without separators. */
export interface MapSettingReport {
  /** Devices on the map now, including those that were there before. */
  readonly moved: readonly string[]
  /** Devices that stay where they are because their `locked` is set. */
  readonly locked: readonly string[]
}

/**
 * Puts devices of the site on a map. A device from another map has no position yet, because positions are in pixels of
 * their own map.
 * @throws AppError not_found for the map; invalid for MACs that no device of the site has.
 */
export function placeOnMap(ctx: Context, scope: SiteScope, { mapId, macs }: MapSetting): Promise<MapSettingReport> {
  const wanted = macs.map(plainMac)
  return inTx(ctx, async (tx) => {
    const at = ctx.clock.now()
    const map = await shareMapOfSite(tx, scope, mapId)
    if (map === undefined) throw notFound(mapId)
    const devices = await lockSiteDevices(tx, scope, wanted)
    const known = new Set(devices.map(({ mac }) => mac))
    const unknown = wanted.findIndex((mac) => !known.has(mac))
    if (unknown >= 0) throw invalidField(`macs.${unknown}`, 'no device of this site has it')
    const elsewhere = devices.filter(({ doc }) => !isOn(map.id, doc))
    const locked = elsewhere.filter(({ doc }) => doc['locked'] === true).map(({ mac }) => mac)
    const moving = elsewhere.filter(({ mac }) => !locked.includes(mac))
    const placements = moving.map(({ id }) => ({ id, fields: { map_id: map.id, x: null, y: null } }))
    await placeDevices(tx, scope, placements, at)
    if (moving.length > 0)
      await appendAudit(tx, scope, {
        message: `Set Map ${titleOf(map)} for ${moving.length} devices`,
        siteId: scope.siteId,
        before: { devices: moving.map(({ mac, doc }) => ({ mac, ...placeOf(doc) })) },
        after: { map_id: map.id, macs: moving.map(({ mac }) => mac) },
        at,
      })
    return { moved: devices.map(({ mac }) => mac).filter((mac) => !locked.includes(mac)), locked }
  })
}

/** @param mapId In the spelling of the database. */
function isOn(mapId: string, { map_id }: Record<string, unknown>): boolean {
  return typeof map_id === 'string' && map_id.toLowerCase() === mapId
}

/** Returns the fields of a device's document that contain its position. */
export function placeOf(doc: Record<string, unknown>): Record<string, unknown> {
  const { map_id, x, y } = doc
  return withoutUndefined({ map_id, x, y })
}
