import type { AnyJson } from '../support/contract/any-json.ts'
import {
  type Meanings,
  deliveryMeanings,
  deviceMeanings,
  edgeEventMeanings,
  edgeMeanings,
  eventMeanings,
  inventoryMeanings,
  logMeanings,
  siteMeanings,
  alarmMeanings,
  systemEventMeanings,
} from './meanings.ts'

export interface Searched {
  readonly meanings: Meanings
  /** Parameters that admit every row; each is left out where it is the one to test. */
  readonly every?: Readonly<Record<string, string>>
  /** The field that identifies a row. */
  readonly key: string
  /** For a count: the search whose rows it counts. */
  readonly rowsOf?: string
}

const all = { type: 'all' }
const lately = { duration: '1h' }
const devices = { meanings: deviceMeanings, every: all, key: 'mac' }
const inventory = { meanings: inventoryMeanings, key: 'mac' }
const events = { meanings: eventMeanings, key: 'id' }
const edges = { meanings: edgeMeanings, key: 'id' }
const logs = { meanings: logMeanings, every: lately, key: 'id' }
const deliveries = { meanings: deliveryMeanings, key: 'id' }
const edgeEvents = { meanings: edgeEventMeanings, key: 'timestamp' }
const alarms = { meanings: alarmMeanings, key: 'id' }
const systemEvents = { meanings: systemEventMeanings, key: 'id' }
const mapId = (row: AnyJson): unknown => row.mapstack_id

/** The answer contains neither the model of an event's device nor the map of a device. */
const eventModel: Meanings = { model: { kind: 'none', value: 'no such model' } }
const deviceMap: Meanings = { map_id: { kind: 'none', value: '5b8d4f51-6f4c-4d55-8f3c-2c53ad3d3b2f' } }

/** Every search, count and filtered list. */
export const searched: Readonly<Record<string, Searched>> = {
  searchOrgDevices: devices,
  searchSiteDevices: devices,
  countOrgDevices: { ...devices, rowsOf: 'searchOrgDevices' },
  countSiteDevices: { ...devices, meanings: { ...deviceMeanings, ...deviceMap }, rowsOf: 'searchSiteDevices' },
  listSiteDevices: devices,
  listOrgDevicesStats: devices,
  listSiteDevicesStats: devices,
  getOrgInventory: { ...inventory, every: { vc: 'true' } },
  searchOrgInventory: { ...inventory, every: all },
  countOrgInventory: { ...inventory, every: all, rowsOf: 'searchOrgInventory' },
  searchOrgDeviceEvents: { ...events, meanings: { ...eventMeanings, ...eventModel }, every: { device_type: 'all' } },
  searchSiteDeviceEvents: { ...events, meanings: { ...eventMeanings, ...eventModel } },
  countOrgDeviceEvents: { ...events, meanings: { ...eventMeanings, ...eventModel }, rowsOf: 'searchOrgDeviceEvents' },
  countSiteDeviceEvents: { ...events, meanings: { ...eventMeanings, ...eventModel }, rowsOf: 'searchSiteDeviceEvents' },
  searchOrgSites: { meanings: siteMeanings, key: 'id' },
  countOrgSites: { meanings: siteMeanings, key: 'id', rowsOf: 'searchOrgSites' },
  searchOrgMxEdges: edges,
  countOrgMxEdges: { ...edges, rowsOf: 'searchOrgMxEdges' },
  listOrgMxEdges: edges,
  listOrgMxEdgesStats: edges,
  listSiteMxEdgesStats: edges,
  searchOrgMistEdgeEvents: edgeEvents,
  searchSiteMistEdgeEvents: edgeEvents,
  countOrgSiteMxEdgeEvents: { ...edgeEvents, rowsOf: 'searchOrgMistEdgeEvents' },
  countSiteMxEdgeEvents: { ...edgeEvents, rowsOf: 'searchSiteMistEdgeEvents' },
  searchOrgAlarms: alarms,
  searchSiteAlarms: alarms,
  countOrgAlarms: { ...alarms, rowsOf: 'searchOrgAlarms' },
  countSiteAlarms: { ...alarms, rowsOf: 'searchSiteAlarms' },
  searchOrgEvents: systemEvents,
  searchOrgSystemEvents: systemEvents,
  searchSiteSystemEvents: systemEvents,
  countOrgSystemEvents: { ...systemEvents, rowsOf: 'searchOrgSystemEvents' },
  countSiteSystemEvents: { ...systemEvents, rowsOf: 'searchSiteSystemEvents' },
  listOrgAuditLogs: logs,
  searchOrgAuditLogs: logs,
  countOrgAuditLogs: { ...logs, rowsOf: 'listOrgAuditLogs' },
  listSelfAuditLogs: {
    ...logs,
    meanings: { ...logMeanings, message: { kind: 'part', of: (row) => row.message, list: false } },
  },
  searchOrgWebhooksDeliveries: deliveries,
  countOrgWebhooksDeliveries: { ...deliveries, rowsOf: 'searchOrgWebhooksDeliveries' },
  listSiteMaps: { meanings: { mapstack_id: { kind: 'id', of: mapId } }, key: 'id' },
  listSiteMapStacks: { meanings: { name: { kind: 'part', of: (row) => row.name } }, key: 'id' },
  listInstallerListOfRecentlyClaimedDevices: {
    ...devices,
    every: {},
    meanings: {
      ...deviceMeanings,
      site_name: { kind: 'whole', of: (row) => row.site_name, list: false },
      site_id: { kind: 'is', value: '5b8d4f51-6f4c-4d55-8f3c-2c53ad3d3b2f', matches: () => false },
    },
  },
  listOrgAvailableDeviceVersions: {
    meanings: {
      model: { kind: 'whole', of: (row) => row.model },
      type: { kind: 'is', value: 'switch', matches: () => false },
    },
    key: 'version',
  },
}

/** Parameters with few known values, for which the contract allows any text, including instants. */
export const openTo: Readonly<Record<string, readonly string[]>> = {
  countOrgDevices: ['managed', 'mxtunnel_status'],
  countSiteDevices: ['mxtunnel_status'],
  searchOrgDevices: ['clustered', 'node', 'mxtunnel_status'],
  listOrgDevicesStats: ['evpn_unused'],
  searchOrgInventory: ['master', 'status'],
  searchOrgDeviceEvents: ['timestamp'],
  countOrgDeviceEvents: ['timestamp'],
  searchSiteDeviceEvents: ['timestamp'],
}

/** Operations with other parameters, which have separate tests. */
export const elsewhere: Readonly<Record<string, string>> = {
  countSiteWebhooksDeliveries: 'the declaration of countOrgWebhooksDeliveries',
  searchSiteWebhooksDeliveries: 'the declaration of searchOrgWebhooksDeliveries',
  listSiteAvailableDeviceVersions: 'the declaration of listOrgAvailableDeviceVersions',
  listSiteDeviceUpgrades: 'test/http/upgrades/site-upgrades.test.ts',
  listOrgUpgrades: 'test/http/upgrades/ssr-upgrades.test.ts',
  listSiteUpgrades: 'test/http/upgrades/upgrade-overviews.test.ts',
  listOrgDeviceUpgradeTargets: 'test/http/upgrades/upgrade-life.test.ts',
  listOrgSsrUpgradeTargets: 'the declaration of listOrgDeviceUpgradeTargets',
  listSiteDeviceUpgradeTargets: 'test/http/upgrades/site-upgrade-changes.test.ts',
  listSiteSsrUpgradeTargets: 'the declaration of listSiteDeviceUpgradeTargets',
  getSiteSsrUpgradeReport: 'the declaration of getOrgDeviceUpgradeReport',
  getOrgSsrUpgradeReport: 'the declaration of getOrgDeviceUpgradeReport',
  getOrgDeviceUpgradeReport: 'test/rollout/reports/report.test.ts',
  getSiteDeviceUpgradeReport: 'test/http/upgrades/upgrade-life.test.ts',
  listOrgSsoLatestFailures: 'test/sso',
  listSiteWirelessClientsStats: 'test/http/devices/telemetry.test.ts',
  getOrgMxEdgeStats: 'one appliance',
  getSiteMxEdgeStats: 'one appliance',
  getSiteDeviceStats: 'one device',
  getSiteDeviceSeries: 'one device',
  getSiteSwitchesMetrics: 'one figure',
  countOrgDeviceLastConfigs: 'Signalbox sends no configurations: nothing is found',
  countSiteDeviceConfigHistory: 'Signalbox sends no configurations: nothing is found',
  countSiteDeviceLastConfig: 'Signalbox sends no configurations: nothing is found',
  searchOrgDeviceLastConfigs: 'Signalbox sends no configurations: nothing is found',
  searchSiteDeviceConfigHistory: 'Signalbox sends no configurations: nothing is found',
  searchSiteDeviceLastConfigs: 'Signalbox sends no configurations: nothing is found',
  getOrgMxEdgeUpgradeInfo: 'a list of packages',
  listOrgMxEdgeVersions: 'a list of packages',
}
