import { join } from 'node:path'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { json } from '../../src/platform/database/db.ts'
import { claimNewDevice, claimNewDevices } from '../support/fleets/devices.ts'
import type { TestServer } from '../support/servers/server.ts'
import { type Area, type Ids, create } from './area.ts'

export const upgradeBody = { all_sites: true, versions: [{ version: '2.0.0' }] }

const startGate = { phase: 0, wait_for: 'approval' }

/** Creates firmware and upgrades to it, of the existing devices. */
export async function makeUpgrades(server: TestServer, { org_id: orgId, site_id: siteId }: Ids): Promise<Area> {
  // The server does this at its start; it creates the folder.
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  const image = await create(server, `/orgs/${orgId}/firmware?version=2.0.0&models=AP45`, 'an image')
  const spare = await create(server, `/orgs/${orgId}/firmware?version=3.0.0&models=AP45`, 'a spare image')
  const upgrade = await create(server, `/orgs/${orgId}/devices/upgrade`, upgradeBody)
  const listed = await claimNewDevice(server, { ...(siteId !== undefined && { siteId }) })
  const ofListed = await create(server, `/orgs/${orgId}/devices/upgrade`, upgradeBody)
  const waiting = await createWaiting(server, orgId)
  const gated = await claimNewDevice(server, { ...(siteId !== undefined && { siteId }) })
  const ofSite = await server.call('POST', `/sites/${siteId}/devices/upgrade`, {
    body: { device_ids: [gated.id], phase_gates: [startGate] },
  })
  const idle = await claimNewDevice(server, { ...(siteId !== undefined && { siteId }) })
  const [router, other, third, fourth, fifth, sixth] = await claimNewDevices(server, 6, {
    model: 'SSR120',
    type: 'gateway',
    ...(siteId !== undefined && { siteId }),
  })
  if (router === undefined || other === undefined || third === undefined || fourth === undefined)
    throw new Error('no router')
  if (fifth === undefined || sixth === undefined) throw new Error('no router to approve')
  await create(server, `/orgs/${orgId}/firmware?version=6.2.0&models=SSR120&tag=stable`, 'an image of routers')
  const ssrPath = `/orgs/${orgId}/ssr/upgrade`
  const ssr = { ids: { upgrade_id: await create(server, ssrPath, { device_ids: [other.id] }) } }
  const approvalOf = async (id: string) => {
    const body = { device_ids: [id], phase_gates: [startGate] }
    return { ids: { upgrade_id: await create(server, ssrPath, body) }, body: { phase: 0 } }
  }
  const siteUpgrade = { ids: { upgrade_id: ofSite.body.upgrade_id } }
  return {
    ids: { image_id: image, upgrade_id: upgrade },
    samples: {
      uploadOrgFirmware: {
        query: 'version=9.9.9&models=AP45',
        body: 'another image',
        headers: { 'content-type': 'application/octet-stream' },
      },
      checkOrgFirmware: {
        body: { files: [{ sha256: '0'.repeat(64), size: 1, query: { version: '9.9.9', models: 'AP45' } }] },
      },
      listOrgFirmware: {},
      getOrgFirmware: {},
      listOrgAvailableDeviceVersions: {},
      listSiteAvailableDeviceVersions: {},
      // This precedes the samples that upgrade all devices, so this one has its device to itself.
      upgradeDevice: { ids: { device_id: idle.id }, body: { version: '2.0.0' } },
      // The last of the routers: the others are in an upgrade.
      upgradeOrgJsiDevice: { ids: { device_mac: fourth.mac }, body: {} },
      listOrgUpgrades: {},
      getOrgUpgrade: {},
      listOrgDeviceUpgrades: {},
      getOrgDeviceUpgrade: {},
      listOrgDeviceUpgradeTargets: {},
      getOrgDeviceUpgradeTarget: { ids: { upgrade_id: ofListed, device_mac: listed.mac } },
      getOrgDeviceUpgradeReport: {},
      pauseOrgDeviceUpgrade: {},
      resumeOrgDeviceUpgrade: {},
      retryOrgDeviceUpgrade: { body: {} },
      excludeOrgDeviceUpgrade: { ids: { upgrade_id: ofListed }, body: { macs: [listed.mac] } },
      approveOrgDeviceUpgrade: { ids: { upgrade_id: waiting }, body: { phase: 1 } },
      cancelOrgDeviceUpgrade: {},
      upgradeOrgDevices: { body: upgradeBody },
      listSiteDeviceUpgrades: {},
      listSiteUpgrades: {},
      getSiteDeviceUpgrade: siteUpgrade,
      getSiteDeviceUpgradeReport: siteUpgrade,
      getSiteUpgrade: siteUpgrade,
      listSiteDeviceUpgradeTargets: siteUpgrade,
      getSiteDeviceUpgradeTarget: { ids: { ...siteUpgrade.ids, device_mac: gated.mac } },
      approveSiteDeviceUpgrade: { ...siteUpgrade, body: { phase: 0 } },
      pauseSiteDeviceUpgrade: siteUpgrade,
      resumeSiteDeviceUpgrade: siteUpgrade,
      retrySiteDeviceUpgrade: { ...siteUpgrade, body: {} },
      excludeSiteDeviceUpgrade: { ...siteUpgrade, body: { macs: [gated.mac] } },
      cancelSiteDeviceUpgrade: siteUpgrade,
      upgradeSiteDevices: { body: { version: '2.0.0' } },
      upgradeOrgSsrs: { body: { device_ids: [router.id] } },
      listOrgSsrUpgrades: {},
      getOrgSsrUpgrade: ssr,
      getOrgSsrUpgradeStatus: ssr,
      getSiteSsrUpgrade: ssr,
      getOrgSsrUpgradeReport: ssr,
      listOrgSsrUpgradeTargets: ssr,
      getOrgSsrUpgradeTarget: { ids: { ...ssr.ids, device_mac: other.mac } },
      pauseOrgSsrUpgrade: ssr,
      resumeOrgSsrUpgrade: ssr,
      approveOrgSsrUpgrade: await approvalOf(fifth.id),
      retryOrgSsrUpgrade: { ...ssr, body: {} },
      excludeOrgSsrUpgrade: { ...ssr, body: { macs: [other.mac] } },
      getSiteSsrUpgradeReport: ssr,
      listSiteSsrUpgradeTargets: ssr,
      getSiteSsrUpgradeTarget: { ids: { ...ssr.ids, device_mac: other.mac } },
      pauseSiteSsrUpgrade: ssr,
      resumeSiteSsrUpgrade: ssr,
      approveSiteSsrUpgrade: await approvalOf(sixth.id),
      retrySiteSsrUpgrade: { ...ssr, body: {} },
      excludeSiteSsrUpgrade: { ...ssr, body: { macs: [other.mac] } },
      cancelSiteSsrUpgrade: ssr,
      cancelOrgSsrUpgrade: ssr,
      listOrgAvailableSsrVersions: {},
      upgradeSsr: { ids: { device_id: third.id }, body: { version: '6.2.0' } },
    },
    removals: { deleteOrgFirmware: { ids: { image_id: spare } } },
  }
}

/** Creates an upgrade without devices whose first phase waits for an approval, as after its last device. */
async function createWaiting(server: TestServer, orgId: string | undefined): Promise<string> {
  const id = await create(server, `/orgs/${orgId}/devices/upgrade`, { strategy: 'canary' })
  const hold = { by: 'approval', reason: 'phase 1 ended and waits for an approval', since_s: 0, since_ms: 0 } as const
  await server.ctx.db
    .updateTable('orgUpgrade')
    .set({ hold: json(hold) })
    .where('id', '=', id)
    .execute()
  return id
}
