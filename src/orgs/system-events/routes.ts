import { systemEventTypes } from '../../events/system-event-types.ts'
import { org, orgAndSite, self } from '../../http/at.ts'
import { EventTypesReply } from '../../http/event-types.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { countEvents, searchEvents } from './store.ts'
import {
  OrgEventReply,
  OrgEventsQuery,
  OrgSystemCountQuery,
  OrgSystemQuery,
  SiteSystemCountQuery,
  SiteSystemQuery,
  SystemEventReply,
  parseOrgEvents,
  parseSystemCount,
  parseSystemEvents,
  presentOrgEvent,
  presentSystemEvent,
} from './wire.ts'

const tag = { org: 'Orgs Events', site: 'Sites Events' } as const

/** Events of the service itself. Source: contract, Orgs Events, Sites Events and Constants Events. */
export const systemEventOperations: Operation[] = [
  searchOperation({
    id: 'searchOrgEvents',
    summary: 'Search the events that concern an organization itself',
    tag: tag.org,
    at: org('/events/search', { needs: 'read' }),
    query: OrgEventsQuery,
    item: OrgEventReply,
    parse: parseOrgEvents,
    run: async (ctx, { scope, search }) =>
      presentPage(await searchEvents(ctx.db, scope, { ...search, page: search }), presentOrgEvent),
  }),
  searchOperation({
    id: { org: 'searchOrgSystemEvents', site: 'searchSiteSystemEvents' },
    summary: {
      org: 'Search what the service reports to an organization and its sites',
      site: 'Search what the service reports to a site',
    },
    tag,
    at: orgAndSite('/events/system/search', { needs: 'read' }),
    query: { org: OrgSystemQuery, site: SiteSystemQuery },
    item: SystemEventReply,
    parse: parseSystemEvents,
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
    query: { org: OrgSystemCountQuery, site: SiteSystemCountQuery },
    parse: parseSystemCount,
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
