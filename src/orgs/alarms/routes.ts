import { Type } from 'typebox'
import { alarmDefinitions } from '../../events/alarms/alarm-types.ts'
import { orgSitesAndSite, self } from '../../http/at.ts'
import { placeCountOf, placeSearchOf } from '../../http/lists/declare-search.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import { presentPage } from '../../http/lists/lists.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty, Uuid, named } from '../../http/schemas.ts'
import { acknowledge, unacknowledge } from './ack-alarms.ts'
import { alarmCounts, alarmSorts, orgAlarmFilters, siteAlarmFilters } from './filters.ts'
import { countAlarms, searchAlarms } from './store.ts'
import { AckBody, AlarmReply, NoteBody, presentAlarm } from './wire.ts'

const tag = { org: 'Orgs Alarms', site: 'Sites Alarms' } as const
const filters = { org: orgAlarmFilters, site: siteAlarmFilters }
const one = { alarm_id: Uuid }
const twins = <Org extends string, Site extends string>(ofOrg: Org, ofSite: Site) => ({ org: ofOrg, site: ofSite })

/**
 * Problems that need attention. Source: the published interface, Orgs Alarms, Sites Alarms; contract, Constants Events.
 */
export const alarmOperations: Operation[] = [
  searchOperation({
    id: twins('searchOrgAlarms', 'searchSiteAlarms'),
    summary: twins('Search the alarms of an organization', 'Search the alarms of a site'),
    tag,
    at: orgSitesAndSite('/alarms/search', { needs: 'read' }),
    ...placeSearchOf({ ...filters, sorts: alarmSorts, usual: '-timestamp' }),
    item: AlarmReply,
    run: async (ctx, { scope, search }) =>
      presentPage(await searchAlarms(ctx.db, scope, { ...search, page: search }), presentAlarm),
  }),
  countOperation({
    id: twins('countOrgAlarms', 'countSiteAlarms'),
    summary: twins('Count the alarms of an organization by a field', 'Count the alarms of a site by a field'),
    tag,
    at: orgSitesAndSite('/alarms/count', { needs: 'read' }),
    ...placeCountOf({ ...filters, counts: { org: alarmCounts, site: alarmCounts }, usual: 'type' }),
    run: (ctx, { scope, search }) => countAlarms(ctx.db, scope, search),
  }),
  operation({
    id: twins('ackOrgMultipleAlarms', 'ackSiteMultipleAlarms'),
    summary: twins('Acknowledge alarms of an organization', 'Acknowledge alarms of a site'),
    method: 'POST',
    tag,
    at: orgSitesAndSite('/alarms/ack', { needs: 'operate' }),
    body: AckBody,
    reply: Empty,
    run: (ctx, { scope, body: { alarm_ids: chosen, note } }) => acknowledge(ctx, scope, { chosen, note }),
  }),
  operation({
    id: twins('ackOrgAllAlarms', 'ackSiteAllAlarms'),
    summary: twins('Acknowledge all alarms of an organization', 'Acknowledge all alarms of a site'),
    method: 'POST',
    tag,
    at: orgSitesAndSite('/alarms/ack_all', { needs: 'operate' }),
    body: Type.Optional(NoteBody),
    reply: Empty,
    run: (ctx, { scope, body }) => acknowledge(ctx, scope, { chosen: 'all', note: body?.note }),
  }),
  operation({
    id: twins('unackOrgMultipleAlarms', 'unackSiteMultipleAlarms'),
    summary: twins(
      'Take back the acknowledgments of alarms of an organization',
      'Take back the acknowledgments of alarms of a site',
    ),
    method: 'POST',
    tag,
    at: orgSitesAndSite('/alarms/unack', { needs: 'operate' }),
    body: AckBody,
    reply: Empty,
    run: (ctx, { scope, body: { alarm_ids: chosen, note } }) => unacknowledge(ctx, scope, { chosen, note }),
  }),
  operation({
    id: twins('unackOrgAllAlarms', 'unackSiteAllAlarms'),
    summary: twins(
      'Take back the acknowledgments of all alarms of an organization',
      'Take back the acknowledgments of all alarms of a site',
    ),
    method: 'POST',
    tag,
    at: orgSitesAndSite('/alarms/unack_all', { needs: 'operate' }),
    body: Type.Optional(NoteBody),
    reply: Empty,
    run: (ctx, { scope, body }) => unacknowledge(ctx, scope, { chosen: 'all', note: body?.note }),
  }),
  operation({
    id: twins('ackOrgAlarm', 'ackSiteAlarm'),
    summary: twins('Acknowledge an alarm of an organization', 'Acknowledge an alarm of a site'),
    method: 'POST',
    tag,
    at: orgSitesAndSite('/alarms/:alarm_id/ack', { needs: 'operate' }),
    params: one,
    body: Type.Optional(NoteBody),
    reply: Empty,
    run: (ctx, { scope, params: { alarm_id: id }, body }) =>
      acknowledge(ctx, scope, { chosen: [id], note: body?.note }),
  }),
  operation({
    id: twins('unackOrgAlarm', 'unackSiteAlarm'),
    summary: twins(
      'Take back the acknowledgment of an alarm of an organization',
      'Take back the acknowledgment of an alarm of a site',
    ),
    method: 'POST',
    tag,
    at: orgSitesAndSite('/alarms/:alarm_id/unack', { needs: 'operate' }),
    params: one,
    body: Type.Optional(NoteBody),
    reply: Empty,
    run: (ctx, { scope, params: { alarm_id: id }, body }) =>
      unacknowledge(ctx, scope, { chosen: [id], note: body?.note }),
  }),
  operation({
    id: 'listAlarmDefinitions',
    summary: 'List the types of alarms',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/alarm_defs'),
    reply: Type.Array(
      named(
        'AlarmType',
        Type.Object({
          key: Type.String(),
          display: Type.String(),
          group: Type.String(),
          severity: Type.String(),
          fields: Type.Array(Type.String()),
          example: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        }),
      ),
    ),
    run: alarmDefinitions,
  }),
].flat()
