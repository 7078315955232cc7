import { type Static, Type } from 'typebox'
import { filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { type Page, type Paged, nextPage, pageQuery, parsePage } from '../../http/lists/lists.ts'
import { Uuid, named } from '../../http/schemas.ts'
import { type TimeRange, distinctParameter, parseSort, sortParameter } from '../../http/lists/search.ts'
import type { VcMember } from '../tables.ts'
import { DeviceTypeName } from '../wire.ts'
import { countFilters, counts, masterFilters, otherFilters, searchFilters, searchSorts } from './filters.ts'
import type { InventoryCount, InventoryHit, InventorySearch } from './store-search.ts'

/** Source: contract, `searchOrgInventory`. */
export const InventorySearchQuery = Type.Object({
  ...pageQuery,
  ...filterQuery(searchFilters),
  ...filterQuery(masterFilters),
  ...filterQuery(otherFilters),
  sort: sortParameter(searchSorts, '-timestamp'),
})

/** @throws AppError invalid naming the field. */
export function parseInventorySearch(query: Static<typeof InventorySearchQuery>): InventorySearch & Page {
  return {
    ...parsePage(query),
    conditions: parseFilters(searchFilters, { type: 'ap', ...query }),
    chassis: parseFilters(masterFilters, query),
    other: parseFilters(otherFilters, query),
    sort: parseSort(query.sort ?? '-timestamp'),
  }
}

const Member = named(
  'InventoryMember',
  Type.Object({
    mac: Type.Optional(Type.String({ description: 'absent where the device does not report it' })),
    model: Type.String(),
    serial: Type.String(),
  }),
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
    sku: Type.Optional(Type.String()),
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

/** Junos reports no MAC of some members. */
function presentMember({ mac, model, serial }: VcMember): Static<typeof Member> {
  return { ...(mac !== '' && { mac }), model, serial }
}

function presentHit(hit: InventoryHit): Static<typeof HitReply> {
  const { orgId, siteId, type, mac, model, serial, name, firmware, connected, members, sku } = hit
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
    ...(sku !== null && { sku }),
    ...(firmware !== null && { version: firmware }),
    ...(isChassis && {
      master: true,
      vc_mac: mac,
      members: members.map(presentMember),
    }),
  }
}

/** Source: contract, `countOrgInventory`. */
export const InventoryCountQuery = Type.Object({
  ...pageQuery,
  ...filterQuery(countFilters),
  distinct: distinctParameter(counts, 'model'),
})

/** @throws AppError invalid naming the field. */
export function parseInventoryCount(query: Static<typeof InventoryCountQuery>, now: Date): InventoryCount & TimeRange {
  return {
    conditions: parseFilters(countFilters, { type: 'ap', ...query }),
    distinct: query.distinct ?? 'model',
    ...parsePage(query),
    // The count covers the present inventory.
    start: now,
    end: now,
  }
}
