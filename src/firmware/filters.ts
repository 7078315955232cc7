import { text } from '../http/lists/filters.ts'

/** Source: contract, `listOrgAvailableDeviceVersions`. */
export const versionFilters = { model: text() }
