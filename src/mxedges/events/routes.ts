import { orgSitesAndSite } from '../../http/at.ts'
import { countOf, searchOf } from '../../http/lists/declare-search.ts'
import { countOperation } from '../../http/lists/list-operation.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { presentSearch } from '../../http/lists/search.ts'
import { countFilters, counts, eventSorts, searchFilters } from './filters.ts'
import { countEvents, searchEvents } from './store.ts'
import { EventSearchReply, presentEvent } from './wire.ts'

const tag = { org: 'Orgs MxEdges', site: 'Sites MxEdges' } as const
const eventSearch = searchOf({ filters: searchFilters, sorts: eventSorts, usual: '-timestamp' })

/** Events of edge appliances. Source: contract, Orgs MxEdges and Sites MxEdges. */
export const mxedgeEventOperations: Operation[] = [
  // Unlike other searches, this answer also has the number of its page.
  operation({
    id: { org: 'searchOrgMistEdgeEvents', site: 'searchSiteMistEdgeEvents' },
    summary: {
      org: 'Search the edge events of an organization',
      site: 'Search the edge events of a site',
    },
    method: 'GET',
    tag,
    at: orgSitesAndSite('/mxedges/events/search', { needs: 'read' }),
    query: eventSearch.query,
    reply: EventSearchReply,
    run: async (ctx, { scope, query, url }) => {
      const search = eventSearch.parse(query, ctx.clock.now())
      const found = await searchEvents(ctx.db, scope, { ...search, page: search })
      return { ...presentSearch(found, presentEvent, { search, url }), page: search.page }
    },
  }),
  countOperation({
    // The contract gives one of the two an irregular name.
    id: { org: 'countOrgSiteMxEdgeEvents', site: 'countSiteMxEdgeEvents' },
    summary: {
      org: 'Count the edge events of an organization by a field',
      site: 'Count the edge events of a site by a field',
    },
    tag,
    at: orgSitesAndSite('/mxedges/events/count', { needs: 'read' }),
    ...countOf({ filters: countFilters, counts, usual: 'mxedge_id' }),
    run: (ctx, { scope, search: count }) => countEvents(ctx.db, scope, count),
  }),
].flat()
