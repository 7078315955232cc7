import { orgSites } from '../../http/at.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import type { Operation } from '../../http/operation.ts'
import { presentMany } from '../stats/routes.ts'
import { StatsReply } from '../stats/wire.ts'
import { countMxedges, searchMxedges } from './store.ts'
import { MxedgeCountQuery, MxedgeSearchQuery, parseMxedgeCount, parseMxedgeSearch } from './wire.ts'

const tag = 'Orgs MxEdges'

/** Searches for edge appliances. Source: contract, Orgs MxEdges. */
export const mxedgeSearchOperations: Operation[] = [
  searchOperation({
    id: 'searchOrgMxEdges',
    summary: 'Search the edge appliances of an organization',
    tag,
    at: orgSites('/mxedges/search', { needs: 'read' }),
    query: MxedgeSearchQuery,
    item: StatsReply,
    parse: parseMxedgeSearch,
    run: async (ctx, { scope, search }) =>
      presentMany(ctx, scope, await searchMxedges(ctx.db, scope, { ...search, page: search })),
  }),
  countOperation({
    id: 'countOrgMxEdges',
    summary: 'Count the edge appliances of an organization by a field',
    tag,
    at: orgSites('/mxedges/count', { needs: 'read' }),
    query: MxedgeCountQuery,
    parse: parseMxedgeCount,
    run: (ctx, { scope, search: count }) => countMxedges(ctx.db, scope, count),
  }),
].flat()
