import { randomUUID } from 'node:crypto'
import { encodeForm } from '../support/contract/forms.ts'
import type { TestServer } from '../support/servers/server.ts'
import { zip } from '../maps/bundles.ts'
import { picture } from '../maps/pictures.ts'
import { type Area, type Ids, create } from './area.ts'

export async function makeMaps(server: TestServer, { site_id: siteId, device_mac: mac }: Ids): Promise<Area> {
  const path = `/sites/${siteId}/maps`
  const site = await server.call('GET', `/sites/${siteId}`)
  const secondMap = await create(server, path, { name: 'Second floor' })
  const form = await encodeForm({ file: { name: 'a.png', type: 'image/png', bytes: await picture(8, 8) } })
  const json = JSON.stringify({ vendor_name: 'images', site_id: siteId })
  const bytes = await zip({ 'a.png': await picture(8, 8) })
  const bundle = await encodeForm({ json, file: { name: 'a.zip', type: 'application/zip', bytes } })
  return {
    ids: { map_id: await create(server, path, { name: 'First floor' }), site_name: encodeURIComponent(site.body.name) },
    samples: {
      listSiteMaps: {},
      createSiteMap: { body: { name: 'Roof' } },
      getSiteMap: {},
      updateSiteMap: { body: { ppm: 12.5 } },
      bulkAssignSiteApsToMap: { body: { macs: [mac] } },
      addSiteMapImage: form,
      replaceSiteMapImage: form,
      importSiteWayfindings: {
        body: { vendor_name: 'micello', account_key: 'k', default_level_id: 1, map_id: randomUUID() },
      },
      listSiteMapStacks: {},
      createSiteMapStack: { body: { name: 'Tower' } },
      importSiteMaps: bundle,
      importOrgMaps: bundle,
      importOrgMapToSite: bundle,
      importInstallerMap: bundle,
      listInstallerMaps: {},
      createInstallerMap: { ids: { map_id: randomUUID() }, body: { name: 'Cellar' } },
      updateInstallerMap: { body: { orientation: 90 } },
    },
    removals: {
      deleteSiteMapImage: {},
      deleteInstallerMap: { ids: { map_id: secondMap } },
      deleteSiteMap: {},
    },
  }
}
