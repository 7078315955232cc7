import { choice, id, text } from '../../http/lists/filters.ts'
import { buckets } from '../buckets.ts'

export const upgradeTargetFilters = {
  status: choice(Object.keys(buckets).toSorted(), { about: 'As the lists of the record are named' }),
  site_id: id(),
  reason: text({ about: 'Why the device failed or was cancelled, such as excluded*', list: false }),
}
