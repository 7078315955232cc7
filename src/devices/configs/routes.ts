import { orgSitesAndSite, site } from '../../http/at.ts'
import { countOperation, searchOperation } from '../../http/lists/list-operation.ts'
import type { Operation } from '../../http/operation.ts'
import {
  ConfigHistoryCount,
  ConfigHistorySearch,
  DeviceConfigReply,
  LastConfigsCount,
  LastConfigsSearch,
  parseConfigCount,
  parseConfigHistory,
  parseLastConfigs,
} from './wire.ts'

const tag = { org: 'Orgs Devices', site: 'Sites Devices' } as const
const needs = 'read'

/**
 * Configurations sent to devices. The service sends none: it stores documents of devices, whose changes are in the
 * audit log. So every search finds nothing. Source: contract, Orgs Devices and Sites Devices.
 */
export const deviceConfigOperations: Operation[] = [
  searchOperation({
    id: { org: 'searchOrgDeviceLastConfigs', site: 'searchSiteDeviceLastConfigs' },
    summary: {
      org: 'Search the last configurations of the devices of an organization: always none',
      site: 'Search the last configurations of the devices of a site: always none',
    },
    tag,
    at: orgSitesAndSite('/devices/last_config/search', { needs }),
    query: LastConfigsSearch,
    item: DeviceConfigReply,
    parse: parseLastConfigs,
    run: (_ctx, { search: { limit } }) => ({ rows: [], total: 0, limit }),
  }),
  countOperation({
    id: { org: 'countOrgDeviceLastConfigs', site: 'countSiteDeviceLastConfig' },
    summary: {
      org: 'Count the last configurations of the devices of an organization: always none',
      site: 'Count the last configurations of the devices of a site: always none',
    },
    tag,
    at: orgSitesAndSite('/devices/last_config/count', { needs }),
    query: LastConfigsCount,
    parse: parseConfigCount,
    run: async () => ({ rows: [], total: 0 }),
  }),
  searchOperation({
    id: 'searchSiteDeviceConfigHistory',
    summary: 'Search all configurations of the devices of a site: always none',
    tag: 'Sites Devices',
    at: site('/devices/config_history/search', { needs }),
    query: ConfigHistorySearch,
    item: DeviceConfigReply,
    parse: parseConfigHistory,
    run: (_ctx, { search: { limit } }) => ({ rows: [], total: 0, limit }),
  }),
  countOperation({
    id: 'countSiteDeviceConfigHistory',
    summary: 'Count all configurations of the devices of a site: always none',
    tag: 'Sites Devices',
    at: site('/devices/config_history/count', { needs }),
    query: ConfigHistoryCount,
    parse: parseConfigCount,
    run: async () => ({ rows: [], total: 0 }),
  }),
].flat()
