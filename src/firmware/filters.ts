import { text } from '../http/filters.ts'

/** Source: contract, `listOrgAvailableDeviceVersions`. */
export const versionFilters = { model: text() }
