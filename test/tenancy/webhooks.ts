import type { TestServer } from '../support/servers/server.ts'
import { type Area, type Ids, create } from './area.ts'

const hook = { url: 'http://127.0.0.1:9/hook', topics: ['audits'], ed25519_signatures: true }

export async function makeWebhooks(server: TestServer, { org_id: orgId, site_id: siteId }: Ids): Promise<Area> {
  const orgHook = await create(server, `/orgs/${orgId}/webhooks`, hook)
  const pulled = { type: 'pull', topics: ['audits'] }
  const orgPull = { ids: { webhook_id: await create(server, `/orgs/${orgId}/webhooks`, pulled) } }
  const sitePull = { ids: { webhook_id: await create(server, `/sites/${siteId}/webhooks`, pulled) } }
  const ofSite = { ids: { webhook_id: await create(server, `/sites/${siteId}/webhooks`, hook) } }
  return {
    ids: { webhook_id: orgHook },
    samples: {
      listOrgWebhooks: {},
      createOrgWebhook: { body: hook },
      getOrgWebhook: {},
      updateOrgWebhook: { body: { name: 'changed' } },
      pingOrgWebhook: {},
      replaceOrgWebhookKey: {},
      searchOrgWebhooksDeliveries: {},
      countOrgWebhooksDeliveries: {},
      getOrgWebhookHealth: {},
      listOrgWebhookParkedMessages: {},
      replayOrgWebhookMessages: { body: {} },
      pullOrgWebhookMessages: orgPull,
      ackOrgWebhookMessages: { ...orgPull, body: { cursor: '0' } },
      pullSiteWebhookMessages: sitePull,
      ackSiteWebhookMessages: { ...sitePull, body: { cursor: '0' } },
      listSiteWebhooks: {},
      createSiteWebhook: { body: hook },
      getSiteWebhook: ofSite,
      updateSiteWebhook: { ...ofSite, body: { name: 'changed' } },
      pingSiteWebhook: ofSite,
      replaceSiteWebhookKey: ofSite,
      searchSiteWebhooksDeliveries: ofSite,
      countSiteWebhooksDeliveries: ofSite,
      getSiteWebhookHealth: ofSite,
      listSiteWebhookParkedMessages: ofSite,
      replaySiteWebhookMessages: { ...ofSite, body: {} },
    },
    removals: { deleteSiteWebhook: ofSite, deleteOrgWebhook: {} },
  }
}
