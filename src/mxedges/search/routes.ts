import { orgSites } from '../../http/at.ts'
import { countOf, searchOf } from '../../http/lists/declare-search.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import type { Operation } from '../../http/operation.ts'
import { presentMany } from '../stats/routes.ts'
import { StatsReply } from '../stats/wire.ts'
import { countFilters, counts, searchFilters, searchSorts } from './filters.ts'
import { countMxedges, searchMxedges } from './store.ts'

const tag = 'Orgs MxEdges'

/** Searches for edge appliances. Source: contract, Orgs MxEdges. */
export const mxedgeSearchOperations: Operation[] = [
  searchOperation({
    id: 'searchOrgMxEdges',
    summary: 'Search the edge appliances of an organization',
    tag,
    at: orgSites('/mxedges/search', { needs: 'read' }),
    // The search finds present appliances whatever the time range: there is no history.
    ...searchOf({ filters: searchFilters, sorts: searchSorts, usual: 'timestamp' }),
    item: StatsReply,
    run: async (ctx, { scope, search }) =>
      presentMany(ctx, scope, await searchMxedges(ctx.db, scope, { ...search, page: search })),
  }),
  countOperation({
    id: 'countOrgMxEdges',
    summary: 'Count the edge appliances of an organization by a field',
    tag,
    at: orgSites('/mxedges/count', { needs: 'read' }),
    ...countOf({ filters: countFilters, counts, usual: 'model' }),
    run: (ctx, { scope, search: count }) => countMxedges(ctx.db, scope, count),
  }),
].flat()
