import { id, text } from '../http/lists/filters.ts'

/** Source: contract, `listInstallerListOfRecentlyClaimedDevices`. */
export const installerDeviceFilters = { model: text(), site_name: text({ list: false }), site_id: id() }
