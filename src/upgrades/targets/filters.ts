import { choice, id, text } from '../../http/lists/filters.ts'
import { buckets } from '../buckets.ts'

/** The filters of an upgrade at one site. */
export const siteTargetFilters = {
  status: choice(Object.keys(buckets).toSorted(), { about: 'As the lists of the record are named' }),
  reason: text({ about: 'Why the device failed, was cancelled or waits, such as excluded* or offline', list: false }),
}

export const upgradeTargetFilters = { ...siteTargetFilters, site_id: id() }
