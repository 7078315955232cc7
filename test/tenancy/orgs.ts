import type { Area } from './area.ts'

/** The organization and its site are there before every area. */
export async function makeOrgs(): Promise<Area> {
  return {
    ids: {},
    samples: {
      getOrg: {},
      updateOrg: { body: { name: 'Changed' } },
      listOrgSites: {},
      createOrgSite: { body: { name: 'New' } },
      searchOrgSites: {},
      countOrgSites: { query: 'distinct=country_code' },
      getSiteInfo: {},
      updateSiteInfo: { body: { notes: 'changed' } },
      listOrgAuditLogs: {},
      searchOrgAuditLogs: {},
      countOrgAuditLogs: { query: 'distinct=message' },
      getOrgSettings: {},
      updateOrgSettings: { body: { ui_idle_timeout: 30 } },
      getSiteSetting: {},
      updateSiteSettings: { body: { device_updown_threshold: 5 } },
      getSiteSettingDerived: {},
    },
  }
}
