import { orgSites } from '../../http/at.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import { presentPage, setPageHeaders } from '../../http/lists/lists.ts'
import type { Operation } from '../../http/operation.ts'
import { countSites, searchSites } from './store.ts'
import {
  FoundSiteReply,
  SitesCountQuery,
  SitesSearchQuery,
  parseSitesCount,
  parseSitesSearch,
  presentFoundSite,
} from './wire.ts'

const tag = 'Orgs Sites'

/** Sites by their fields and settings. Source: contract, Orgs Sites. */
export const siteSearchOperations: Operation[] = [
  searchOperation({
    id: 'searchOrgSites',
    summary: 'Search the sites of an organization',
    tag,
    at: orgSites('/sites/search', { needs: 'read' }),
    query: SitesSearchQuery,
    item: FoundSiteReply,
    parse: parseSitesSearch,
    run: async (ctx, { scope, search, reply }) => {
      const found = await searchSites(ctx.db, scope, { ...search, page: search })
      setPageHeaders(reply, search, found)
      return presentPage(found, presentFoundSite)
    },
  }),
  countOperation({
    id: 'countOrgSites',
    summary: 'Count the sites of an organization by a field',
    tag,
    at: orgSites('/sites/count', { needs: 'read' }),
    query: SitesCountQuery,
    parse: parseSitesCount,
    run: (ctx, { scope, search }) => countSites(ctx.db, scope, search),
  }),
].flat()
