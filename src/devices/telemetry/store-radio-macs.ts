import { sql } from 'kysely'
import type { SitesScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import type { Reader } from '../../platform/database/db.ts'
import { deviceFields } from '../store-fields.ts'
import { byMac, pageOfDevices } from '../store-device-pages.ts'
import { deviceFilterOf } from '../store-lists.ts'

export interface RadioMacs {
  readonly mac: string
  /** Null before the first report. */
  readonly radioMacs: readonly string[] | null
}

const accessPoints = { type: { values: ['ap'], patterns: [], anyCase: false } }

/** Lists the access points by MAC. */
export function listRadioMacs(reader: Reader, scope: SitesScope, page: Page): Promise<Paged<RadioMacs>> {
  return pageOfDevices<RadioMacs>(reader, scope, {
    filter: deviceFilterOf(deviceFields, accessPoints),
    sort: byMac,
    page,
    columns: sql`device.mac, summary.radio_macs`,
    also: ['summary'],
    sizes: smallRows,
  })
}
