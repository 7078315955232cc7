import { picture } from '../maps/pictures.ts'
import { addSite, connectDevice, makeDevices } from '../support/fleets/devices.ts'
import { encodeForm } from '../support/contract/forms.ts'
import type { TestServer } from '../support/servers/server.ts'
import type { Area, Ids } from './area.ts'

const members = [0, 1].map((member) => ({
  member,
  mac: `0200000000b${member}`,
  serial: `M${member}`,
  model: 'ECS4150',
  firmware: '1.0.0',
}))

export async function makeInstaller(server: TestServer, { org_id: orgId }: Ids): Promise<Area> {
  const [unclaimed, chassis] = await makeDevices(server.ctx, 2, { model: 'ECS4150', type: 'switch' })
  if (unclaimed === undefined || chassis === undefined) throw new Error('no device')
  await server.call('POST', `/orgs/${orgId}/inventory`, { body: [chassis.claim_code] })
  await connectDevice(server.ctx, chassis.mac, { model: 'ECS4150', type: 'switch', members })
  await addSite(server, 'Back yard')
  const site = { name: 'Made by hand', address: '1 High Street', country_code: 'GB', latlng: { lat: 51.5, lng: -0.1 } }
  const form = await encodeForm({ file: { name: 'a.png', type: 'image/png', bytes: await picture(8, 8) } })
  const photo = { image_name: 'image3' }
  return {
    ids: { fpc0_mac: chassis.mac },
    samples: {
      listInstallerListOfRecentlyClaimedDevices: {},
      claimInstallerDevices: { body: [unclaimed.claim_code] },
      provisionInstallerDevices: { body: { name: 'Lobby' } },
      startInstallerLocateDevice: {},
      stopInstallerLocateDevice: {},
      addInstallerDeviceImage: { ...form, ids: photo },
      getInstallerDeviceVirtualChassis: {},
      listInstallerSites: {},
      createOrUpdateInstallerSites: { ids: { site_name: 'Back+yard' }, body: site },
      listInstallerSiteGroups: {},
      listInstallerAlarmTemplates: {},
      listInstallerDeviceProfiles: {},
      listInstallerRfTemplatesNames: {},
    },
    removals: {
      deleteInstallerDeviceImage: { ids: photo },
      // It uses its own chassis, because the other samples still need theirs.
      unassignInstallerRecentlyClaimedDevice: { ids: { device_mac: chassis.mac } },
    },
  }
}
