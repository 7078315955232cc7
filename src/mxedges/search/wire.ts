import { type Static, Type } from 'typebox'
import { type Page, pageQuery, parsePage } from '../../http/lists.ts'
import { Uuid } from '../../http/schemas.ts'
import { type TimeRange, parseSort, parseTimeRange, searchQuery } from '../../http/search.ts'
import type { MxedgeDistinct, MxedgeFilter, MxedgeOrder, MxedgeSearch } from './store.ts'

const orders = ['timestamp', 'name', 'model', 'site_id', 'mxcluster_id'] as const satisfies readonly MxedgeOrder[]
const Sort = Type.Optional(
  Type.Enum(
    orders.flatMap((by) => [by, `-${by}`]),
    { default: 'timestamp', description: 'by the time of the last change, or a field; `-` is descending' },
  ),
)

const filters = {
  ...searchQuery,
  mxedge_id: Type.Optional(Uuid),
  site_id: Type.Optional(Uuid),
  mxcluster_id: Type.Optional(Uuid),
  model: Type.Optional(Type.String()),
  distro: Type.Optional(Type.String({ description: 'that of an appliance which never told it is none' })),
  tunterm_version: Type.Optional(Type.String({ description: 'as `distro`' })),
  stats: Type.Optional(Type.Boolean({ description: 'they are always there' })),
  sort: Sort,
}

export const MxedgeSearchQuery = Type.Object({ ...filters, ...pageQuery })
export const MxedgeCountQuery = Type.Object({
  ...filters,
  limit: pageQuery.limit,
  distinct: Type.Optional(
    Type.Enum(['distro', 'model', 'mxcluster_id', 'site_id', 'tunterm_version'], { default: 'model' }),
  ),
})

type FilterQuery = Omit<Static<typeof MxedgeSearchQuery>, 'limit' | 'page' | 'sort'>

/** The search finds present appliances whatever the time range says: there is no history. */
function parseFilter(query: FilterQuery, now: Date): MxedgeFilter & TimeRange {
  const { mxedge_id: id, site_id: siteId, mxcluster_id: mxclusterId, model, distro, tunterm_version: version } = query
  return {
    ...parseTimeRange(query, now),
    ...(id !== undefined && { id }),
    ...(siteId !== undefined && { siteId }),
    ...(mxclusterId !== undefined && { mxclusterId }),
    ...(model !== undefined && { model }),
    onlyTold: distro !== undefined || version !== undefined,
  }
}

export function parseMxedgeSearch(query: Static<typeof MxedgeSearchQuery>, now: Date): MxedgeSearch & TimeRange {
  const { by, direction } = parseSort(query.sort ?? 'timestamp')
  const order = orders.find((known) => known === by) ?? 'timestamp'
  return { ...parseFilter(query, now), ...parsePage(query), by: order, direction }
}

export function parseMxedgeCount(
  { distinct = 'model', ...query }: Static<typeof MxedgeCountQuery>,
  now: Date,
): MxedgeFilter & TimeRange & Pick<Page, 'limit'> & { readonly distinct: MxedgeDistinct } {
  return { ...parseFilter(query, now), limit: parsePage(query).limit, distinct }
}
