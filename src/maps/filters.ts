import { id, part } from '../http/lists/filters.ts'

/** Source: Python SDK, `listSiteMaps`. */
export const mapFilters = { mapstack_id: id({ about: 'of the stack that the map names' }) }

/** Source: addendum, `listSiteMapStacks`. */
export const stackFilters = { name: part() }
