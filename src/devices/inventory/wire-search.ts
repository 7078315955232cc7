import { type Static, Type } from 'typebox'
import { type Page, type Paged, nextPage, pageQuery, parsePage } from '../../http/lists.ts'
import { Uuid, named } from '../../http/schemas.ts'
import { type TimeRange, parseSort } from '../../http/search.ts'
import { DeviceTypeName, DeviceTypeOrAll, parseType } from '../wire.ts'
import type { InventoryCount, InventoryHit, InventorySearch } from './store-search.ts'
import { parseMacFilter } from './wire.ts'

const text = Type.Optional(Type.String({ maxLength: 200 }))
const sorts = ['timestamp', 'mac', 'name', 'model', 'serial', 'site_id'] as const

/** Source: contract, `searchOrgInventory`. */
export const InventorySearchQuery = Type.Object({
  ...pageQuery,
  type: Type.Optional(DeviceTypeOrAll),
  mac: text,
  model: text,
  serial: text,
  site_id: Type.Optional(Uuid),
  vc_mac: Type.Optional(Type.String({ description: 'the Virtual Chassis of this MAC' })),
  master_mac: Type.Optional(Type.String({ description: 'as `vc_mac`: a Virtual Chassis has the MAC of its master' })),
  master: Type.Optional(Type.Boolean({ description: 'true: only Virtual Chassis' })),
  sku: Type.Optional(Type.String({ description: 'not known of any device: matches none' })),
  version: text,
  status: Type.Optional(Type.Enum(['connected', 'disconnected'])),
  text: Type.Optional(Type.String({ maxLength: 200, description: 'part of name, MAC, serial or model, in any case' })),
  sort: Type.Optional(
    Type.Enum(
      sorts.flatMap((sort) => [sort, `-${sort}` as const]),
      { default: '-timestamp' },
    ),
  ),
})

const columns = {
  timestamp: 'modified_at',
  mac: 'id',
  name: 'name',
  model: 'model',
  serial: 'serial',
  site_id: 'site_id',
} as const

/** @throws AppError invalid for a malformed MAC. */
export function parseInventorySearch(query: Static<typeof InventorySearchQuery>): InventorySearch & Page {
  const { by, direction } = parseSort(query.sort ?? '-timestamp')
  return {
    ...parsePage(query),
    filter: {
      siteId: query.site_id ?? null,
      type: parseType(query.type),
      model: query.model ?? null,
      mac: parseMacFilter('mac', query.mac),
      serial: query.serial ?? null,
      chassisMacs: [parseMacFilter('vc_mac', query.vc_mac), parseMacFilter('master_mac', query.master_mac)].filter(
        (mac) => mac !== null,
      ),
      onlyChassis: query.master ?? false,
      version: query.version ?? null,
      connected: query.status === undefined ? null : query.status === 'connected',
      text: query.text ?? null,
      nothing: query.sku !== undefined,
    },
    sort: { by: Object.entries(columns).find(([name]) => name === by)?.[1] ?? 'modified_at', direction },
  }
}

const Member = named(
  'InventoryMember',
  Type.Object({ mac: Type.String(), model: Type.String(), serial: Type.String() }),
)

const HitReply = named(
  'InventoryHit',
  Type.Object({
    org_id: Uuid,
    site_id: Type.Optional(Uuid),
    type: DeviceTypeName,
    mac: Type.String(),
    model: Type.String(),
    serial: Type.String(),
    name: Type.String(),
    status: Type.Enum(['connected', 'disconnected']),
    version: Type.Optional(Type.String()),
    master: Type.Optional(Type.Boolean()),
    members: Type.Optional(Type.Array(Member)),
    vc_mac: Type.Optional(Type.String()),
  }),
)

/** Source: contract, `inventory_search`; `total` and `next` as in other searches. */
export const InventorySearchReply = named(
  'InventorySearchResult',
  Type.Object({
    limit: Type.Integer(),
    page: Type.Integer(),
    total: Type.Integer(),
    results: Type.Array(HitReply),
    next: Type.Optional(Type.String()),
  }),
)

export function presentInventorySearch(
  { rows, total, limit }: Paged<InventoryHit>,
  { page }: Page,
  url: string,
): Static<typeof InventorySearchReply> {
  return {
    limit,
    page,
    total,
    results: rows.map(presentHit),
    ...(limit * page < total && { next: nextPage(url, { limit, page }) }),
  }
}

function presentHit(hit: InventoryHit): Static<typeof HitReply> {
  const { orgId, siteId, type, mac, model, serial, name, firmware, connected, members } = hit
  const isChassis = members !== null && members.length > 1
  return {
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    type,
    mac,
    model,
    serial,
    name: name ?? '',
    status: connected === true ? 'connected' : 'disconnected',
    ...(firmware !== null && { version: firmware }),
    ...(isChassis && {
      master: true,
      vc_mac: mac,
      members: members.map((member) => ({ mac: member.mac, model: member.model, serial: member.serial })),
    }),
  }
}

/** Source: contract, `countOrgInventory`. */
export const InventoryCountQuery = Type.Object({
  limit: pageQuery.limit,
  type: Type.Optional(DeviceTypeOrAll),
  distinct: Type.Optional(Type.Enum(['model', 'status', 'site_id', 'sku', 'version'], { default: 'model' })),
})

export function parseInventoryCount(
  { type, distinct = 'model', limit }: Static<typeof InventoryCountQuery>,
  now: Date,
): InventoryCount & TimeRange & { readonly distinct: string } {
  return {
    distinct,
    type: parseType(type),
    field: distinct === 'sku' ? null : distinct,
    limit: parsePage(limit === undefined ? {} : { limit }).limit,
    // The count covers the present inventory.
    start: now,
    end: now,
  }
}
