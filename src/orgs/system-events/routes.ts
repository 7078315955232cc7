import { Type } from 'typebox'
import { systemEventTypes } from '../../events/system-event-types.ts'
import { org, orgAndSite, self } from '../../http/at.ts'
import { EventTypesReply } from '../../http/event-types.ts'
import { placeCountOf, placeSearchOf, searchOf } from '../../http/lists/declare-search.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { anyDistinctParameter } from '../../http/lists/search.ts'
import { eventFilters, eventSorts, orgCounts, siteCounts, systemFilters, systemSorts } from './filters.ts'
import { countEvents, searchEvents } from './store.ts'
import { OrgEventReply, SystemEventReply, presentOrgEvent, presentSystemEvent } from './wire.ts'

const tag = { org: 'Orgs Events', site: 'Sites Events' } as const
const placeFilters = { org: systemFilters, site: eventFilters }

const anyFields: readonly string[] = orgCounts
const count = placeCountOf({ ...placeFilters, counts: { org: anyFields, site: siteCounts }, usual: 'type' })
/** The contract lets the count of an organization name any field. */
const orgCountQuery = Type.Object({
  ...count.query.org.properties,
  distinct: anyDistinctParameter(orgCounts, 'type'),
})

/** Events of the service itself. Source: contract, Orgs Events, Sites Events and Constants Events. */
export const systemEventOperations: Operation[] = [
  searchOperation({
    id: 'searchOrgEvents',
    summary: 'Search the events that concern an organization itself',
    tag: tag.org,
    at: org('/events/search', { needs: 'read' }),
    ...searchOf({ filters: eventFilters, sorts: eventSorts, usual: '-timestamp' }),
    item: OrgEventReply,
    run: async (ctx, { scope, search }) =>
      presentPage(await searchEvents(ctx.db, scope, { ...search, isOfOrg: true, page: search }), presentOrgEvent),
  }),
  searchOperation({
    id: { org: 'searchOrgSystemEvents', site: 'searchSiteSystemEvents' },
    summary: {
      org: 'Search what the service reports to an organization and its sites',
      site: 'Search what the service reports to a site',
    },
    tag,
    at: orgAndSite('/events/system/search', { needs: 'read' }),
    ...placeSearchOf({ ...placeFilters, sorts: systemSorts, usual: '-timestamp' }),
    item: SystemEventReply,
    run: async (ctx, { scope, search }) =>
      presentPage(await searchEvents(ctx.db, scope, { ...search, page: search }), presentSystemEvent),
  }),
  countOperation({
    id: { org: 'countOrgSystemEvents', site: 'countSiteSystemEvents' },
    summary: {
      org: 'Count what the service reports to an organization by a field',
      site: 'Count what the service reports to a site by a field',
    },
    tag,
    at: orgAndSite('/events/system/count', { needs: 'read' }),
    query: { org: orgCountQuery, site: count.query.site },
    parse: count.parse,
    run: (ctx, { scope, search }) => countEvents(ctx.db, scope, search),
  }),
  operation({
    id: 'listSystemEventsDefinitions',
    summary: 'List the types of events of the service itself',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/system_events'),
    reply: EventTypesReply,
    run: systemEventTypes,
  }),
].flat()
