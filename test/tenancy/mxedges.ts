import { join } from 'node:path'
import { sweepFirmwareFiles } from '../../src/firmware/storage/storage.ts'
import { uploadPackage } from '../edge/upgrades/packages.ts'
import { addBox } from '../edge/upgrades/upgrade-world.ts'
import { picture } from '../maps/pictures.ts'
import { encodeForm } from '../support/contract/forms.ts'
import { makeMxedge } from '../support/fleets/mxedges.ts'
import type { TestServer } from '../support/servers/server.ts'
import { addSupportFile } from '../support/support-files.ts'
import { type Area, type Ids, create } from './area.ts'

const body = { name: 'Edge', model: 'ME-VM' }

export async function makeMxedges(server: TestServer, { org_id: orgId = '', site_id: siteId }: Ids): Promise<Area> {
  const path = `/orgs/${orgId}/mxedges`
  const cluster = await create(server, `/orgs/${orgId}/mxclusters`, { name: 'Cluster' })
  const mxedge = await create(server, path, body)
  const atSite = await create(server, path, body)
  const { claim_code: code } = await makeMxedge(server.ctx)
  const form = await encodeForm({ file: { name: 'a.png', type: 'image/png', bytes: await picture(8, 8) } })
  // The server does this at its start; it creates the folder.
  await sweepFirmwareFiles(server.ctx, { dir: join(server.dataDir, 'firmware') })
  await uploadPackage(server, '2.0.0')
  const box = await addBox(server)
  const boxAtSite = await addBox(server)
  const [gated, gatedAtSite] = [await addBox(server), await addBox(server)]
  await server.call('POST', `${path}/assign`, {
    body: { mxedge_ids: [atSite, boxAtSite, gatedAtSite], site_id: siteId },
  })
  // An upgrade that has nothing to do ends at once.
  const later = { versions: { tunterm: '2.0.0' }, start_time: Math.floor(Date.now() / 1000) + 86_400 }
  const upgrade = await create(server, `${path}/upgrade`, { ...later, mxedge_ids: [box] })
  const approval = { ...later, phase_gates: [{ phase: 0, wait_for: 'approval' }] }
  const waiting = await create(server, `${path}/upgrade`, { ...approval, mxedge_ids: [gated] })
  const atSitePath = `/sites/${siteId}/mxedges/upgrade`
  const waitingAtSite = await create(server, atSitePath, { ...approval, mxedge_ids: [gatedAtSite] })
  const upgradeAtSite = await create(server, atSitePath, later)
  const one = { ids: { upgrade_id: upgrade } }
  const oneAtSite = { ids: { upgrade_id: upgradeAtSite } }
  const offline = { refusal: 'The edge appliance is not connected' }
  const ofSite = { ids: { mxedge_id: atSite } }
  const file = { ids: { file_id: await addSupportFile(server, { orgId, mxedgeId: mxedge }) } }
  const fileAtSite = { ids: { mxedge_id: atSite, file_id: await addSupportFile(server, { orgId, mxedgeId: atSite }) } }
  return {
    ids: { mxedge_id: mxedge, mxcluster_id: cluster },
    samples: {
      listOrgMxEdgeClusters: {},
      createOrgMxEdgeCluster: { body: { name: 'Another' } },
      getOrgMxEdgeCluster: {},
      updateOrgMxEdgeCluster: { body: { name: 'changed' } },
      listOrgMxEdges: {},
      searchOrgMxEdges: {},
      countOrgMxEdges: {},
      searchOrgMistEdgeEvents: {},
      countOrgSiteMxEdgeEvents: {},
      listOrgMxEdgesStats: {},
      getOrgMxEdgeStats: {},
      createOrgMxEdge: { body },
      claimOrgMxEdge: { body: { code } },
      assignOrgMxEdgeToSite: { body: { mxedge_ids: [mxedge], site_id: siteId } },
      unassignOrgMxEdgeFromSite: { body: { mxedge_ids: [mxedge] } },
      getOrgMxEdge: {},
      updateOrgMxEdge: { body: { notes: 'changed' } },
      restartOrgMxEdge: {},
      unregisterOrgMxEdge: {},
      addOrgMxEdgeImage: { ...form, ids: { image_number: '1' } },
      getOrgMxEdgeUpgradeInfo: {},
      listOrgMxEdgeVersions: {},
      getOrgMxEdgeVmParams: {},
      listOrgMxEdgeCommands: {},
      controlOrgMxEdgeServices: { ...offline, ids: { name: 'tunterm', action: 'restart' } },
      bounceOrgMxEdgeDataPorts: { ...offline, body: { ports: ['0'] } },
      disconnectOrgMxEdgeTuntermAps: { ...offline, body: { macs: ['aabbccddeeff'] } },
      uploadOrgMxEdgeSupportFiles: offline,
      listOrgMxEdgeSupportFiles: {},
      getOrgMxEdgeSupportFile: file,
      listSiteMxEdgeSupportFiles: ofSite,
      getSiteMxEdgeSupportFile: fileAtSite,
      uploadSiteMxEdgeSupportFiles: { ...offline, ...ofSite },
      listSiteMxEdges: {},
      searchSiteMistEdgeEvents: {},
      countSiteMxEdgeEvents: {},
      listSiteMxEdgesStats: {},
      getSiteMxEdgeStats: ofSite,
      getSiteMxEdge: ofSite,
      updateSiteMxEdge: { ...ofSite, body: { notes: 'changed' } },
      upgradeOrgMxEdges: { body: later },
      listOrgMxEdgeUpgrades: {},
      getOrgMxEdgeUpgrade: one,
      listOrgMxEdgeUpgradeTargets: one,
      updateOrgMxEdgeUpgrade: { ...one, body: { strategy: 'serial' } },
      retryOrgMxEdgeUpgrade: { ...one, body: {} },
      pauseOrgMxEdgeUpgrade: one,
      resumeOrgMxEdgeUpgrade: one,
      approveOrgMxEdgeUpgrade: { ids: { upgrade_id: waiting }, body: { phase: 0 } },
      excludeOrgMxEdgeUpgrade: { ...one, body: { mxedge_ids: [box] } },
      cancelOrgMxEdgeUpgrade: one,
      upgradeSiteMxEdges: { body: later },
      listSiteMxEdgeUpgrades: {},
      getSiteMxEdgeUpgrade: oneAtSite,
      listSiteMxEdgeUpgradeTargets: oneAtSite,
      updateSiteMxEdgeUpgrade: { ...oneAtSite, body: { strategy: 'serial' } },
      retrySiteMxEdgeUpgrade: { ...oneAtSite, body: {} },
      pauseSiteMxEdgeUpgrade: oneAtSite,
      resumeSiteMxEdgeUpgrade: oneAtSite,
      approveSiteMxEdgeUpgrade: { ids: { upgrade_id: waitingAtSite }, body: { phase: 0 } },
      excludeSiteMxEdgeUpgrade: { ...oneAtSite, body: { mxedge_ids: [boxAtSite] } },
      cancelSiteMxEdgeUpgrade: oneAtSite,
    },
    removals: {
      deleteOrgMxEdgeSupportFile: file,
      deleteSiteMxEdgeSupportFile: fileAtSite,
      deleteOrgMxEdgeImage: { ids: { image_number: '1' } },
      deleteSiteMxEdge: ofSite,
      deleteOrgMxEdge: {},
      deleteOrgMxEdgeCluster: {},
    },
  }
}
