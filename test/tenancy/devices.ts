import { claimNewDevice, claimNewDevices, connectDevice, makeDevices } from '../support/fleets/devices.ts'
import { picture } from '../maps/pictures.ts'
import { encodeForm } from '../support/contract/forms.ts'
import type { TestServer } from '../support/servers/server.ts'
import { uploadSupportFile } from '../support/support-files.ts'
import type { Area, Ids } from './area.ts'

export async function makeDevicesArea(server: TestServer, { site_id: siteId }: Ids): Promise<Area> {
  const device = await claimNewDevice(server, { ...(siteId !== undefined && { siteId }) })
  const replaced = await claimNewDevice(server, { ...(siteId !== undefined && { siteId }) })
  const spare = await claimNewDevice(server)
  const [unclaimed] = await makeDevices(server.ctx, 1)
  // One device for each command that excludes the others.
  const junos = await claimNewDevices(server, 3, { ...(siteId !== undefined && { siteId }) })
  const [restored, restoredToo, saved] = junos
  if (restored === undefined || restoredToo === undefined || saved === undefined || unclaimed === undefined)
    throw new Error('no device')
  await connectDevice(server.ctx, device.mac)
  for (const { mac } of junos) {
    const commands = ['restore_backup', 'snapshot'] as const
    await connectDevice(server.ctx, mac, { capabilities: { commands, restart_members: [], restart_nodes: [] } })
  }
  const support = await server.call('POST', `/sites/${siteId}/devices/${device.id}/support`, { body: {} })
  const { session } = support.body
  await uploadSupportFile(server, { commandId: session, mac: device.mac })
  const form = await encodeForm({ file: { name: 'a.png', type: 'image/png', bytes: await picture(8, 8) } })
  return {
    ids: { device_id: device.id, device_mac: device.mac, image_number: '1', command_id: session, file_id: session },
    samples: {
      getOrgInventory: {},
      searchOrgInventory: {},
      countOrgInventory: {},
      addOrgInventory: { body: [unclaimed.claim_code] },
      updateOrgInventoryAssignment: { body: { op: 'assign', site_id: siteId, macs: [device.mac] } },
      replaceOrgDevices: { body: { mac: replaced.mac, inventory_mac: spare.mac } },
      listOrgDevices: {},
      listSiteDevices: {},
      getSiteDevice: {},
      updateSiteDevice: { body: { name: 'changed' } },
      exportSiteDevices: {},
      importSiteDevices: { body: [{ mac: device.mac, notes: 'imported' }] },
      restartSiteDevice: { body: {} },
      restartSiteMultipleDevices: { body: { device_ids: [device.id] } },
      startSiteLocateDevice: { body: {} },
      stopSiteLocateDevice: {},
      restoreSiteDeviceBackupVersion: { ids: { device_id: restored.id } },
      restoreSiteMultipleDeviceBackupVersion: { body: { device_ids: [restoredToo.id] } },
      createSiteDeviceSnapshot: { ids: { device_id: saved.id } },
      getOrgJuniperDevicesCommand: {},
      getOrg128TRegistrationCommands: {},
      getOrgSsrRegistrationCommands: {},
      rotateOrgJuniperDevicesSecret: {},
      getOrgDeviceHostKeys: {},
      updateOrgDeviceHostKeys: { body: { keys: [] } },
      pingFromDevice: { body: { host: '192.0.2.1' } },
      listSiteDeviceCommands: {},
      getSiteDeviceCommand: {},
      uploadSiteDeviceSupportFile: { body: {} },
      listSiteDeviceSupportFiles: {},
      getSiteDeviceSupportFile: {},
      searchOrgDevices: {},
      countOrgDevices: {},
      listOrgDevicesSummary: {},
      searchOrgDeviceLastConfigs: {},
      countOrgDeviceLastConfigs: {},
      searchSiteDeviceLastConfigs: {},
      countSiteDeviceLastConfig: {},
      searchSiteDeviceConfigHistory: {},
      countSiteDeviceConfigHistory: {},
      reevaluateOrgAutoAssignment: {
        refusal: "Devices can't be assigned by rules: assign them by PUT .../inventory",
      },
      searchOrgDeviceEvents: {},
      countOrgDeviceEvents: {},
      searchSiteDeviceEvents: {},
      countSiteDeviceEvents: {},
      searchSiteDevices: {},
      countSiteDevices: {},
      addSiteDeviceImage: form,
      addSiteDeviceImageByNumber: { ...form, ids: { image_number: '2' } },
      deleteSiteDeviceImage: {},
      deleteSiteDeviceImageByNumber: { ids: { image_number: '2' } },
      listOrgDevicesStats: {},
      getOrgStats: {},
      listOrgSiteStats: {},
      getSiteStats: {},
      listSiteDevicesStats: {},
      getSiteDeviceStats: {},
      getSiteAllClientsStatsByDevice: {},
      listSiteWirelessClientsStats: {},
      getSiteDeviceSeries: {},
      getSiteSwitchesMetrics: {},
      getSiteGatewayMetrics: {},
      listOrgApsMacs: {},
    },
    removals: { deleteSiteDeviceSupportFile: {} },
  }
}
