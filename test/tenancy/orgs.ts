import { raiseAlarms } from '../../src/events/alarms/store.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { addSite } from '../support/fleets/devices.ts'
import type { TestServer } from '../support/servers/server.ts'
import { type Area, type Ids, create } from './area.ts'

/** The organization and its site exist before every area. */
export async function makeOrgs(server: TestServer, { org_id: orgId = '', site_id: siteId = '' }: Ids): Promise<Area> {
  // It can be deleted, because it has no devices or upgrades like the others.
  const emptyOrg = { org_id: await create(server, '/orgs', { name: 'Empty' }) }
  const emptySite = { site_id: await addSite(server, 'Empty') }
  const alarmId = await addAlarm(server, orgId, siteId)
  const chosen = { body: { alarm_ids: [alarmId] } }
  return {
    ids: { alarm_id: alarmId, sitegroup_id: await create(server, `/orgs/${orgId}/sitegroups`, { name: 'Group' }) },
    samples: {
      searchOrgAlarms: {},
      searchSiteAlarms: {},
      countOrgAlarms: {},
      countSiteAlarms: {},
      ackOrgAlarm: { body: { note: 'seen' } },
      unackOrgAlarm: {},
      ackSiteAlarm: {},
      unackSiteAlarm: {},
      ackOrgMultipleAlarms: chosen,
      unackOrgMultipleAlarms: chosen,
      ackSiteMultipleAlarms: chosen,
      unackSiteMultipleAlarms: chosen,
      ackOrgAllAlarms: {},
      unackOrgAllAlarms: {},
      ackSiteAllAlarms: {},
      unackSiteAllAlarms: {},
      searchOrgEvents: {},
      searchOrgSystemEvents: {},
      searchSiteSystemEvents: {},
      countOrgSystemEvents: {},
      countSiteSystemEvents: {},
      getOrg: {},
      updateOrg: { body: { name: 'Changed' } },
      cloneOrg: { body: { name: 'Clone' } },
      listOrgSites: {},
      createOrgSite: { body: { name: 'New' } },
      searchOrgSites: {},
      countOrgSites: { query: 'distinct=country_code' },
      getSiteInfo: {},
      updateSiteInfo: { body: { notes: 'changed' } },
      listOrgSiteGroups: {},
      createOrgSiteGroup: { body: { name: 'New', site_ids: [emptySite.site_id] } },
      getOrgSiteGroup: {},
      updateOrgSiteGroup: { body: { name: 'changed' } },
      listOrgAuditLogs: {},
      searchOrgAuditLogs: {},
      countOrgAuditLogs: { query: 'distinct=message' },
      getOrgSettings: {},
      updateOrgSettings: { body: { ui_idle_timeout: 30 } },
      getSiteAutoUpgrade: {},
      getSiteSetting: {},
      updateSiteSettings: { body: { device_updown_threshold: 5 } },
      getSiteSettingDerived: {},
    },
    removals: { deleteOrgSiteGroup: {}, deleteSite: { ids: emptySite }, deleteOrg: { ids: emptyOrg } },
  }
}

async function addAlarm({ ctx }: TestServer, orgId: string, siteId: string): Promise<string> {
  const alarm = { orgId, siteId, type: 'device_down', subject: 'a device', text: 'It is offline', details: {} } as const
  await inTx(ctx, (tx) => raiseAlarms(tx, [alarm], ctx.clock.now()))
  const { id } = await ctx.db.selectFrom('alarm').select('id').where('orgId', '=', orgId).executeTakeFirstOrThrow()
  return id
}
