import { type Telemetry, telemetryLimits } from '../../../devices/telemetry/telemetry.ts'
import { dbmOf, fieldsOf, listOf, macOf } from '../../report-values.ts'

/** Decodes the strongest foreign cells that the access point hears; empty if it is no list, as in a report without a scan. */
export function decodeScan(scan: unknown): Pick<Telemetry, 'scan'> {
  if (!Array.isArray(scan)) return {}
  const cells = listOf(scan, MAX_SCANNED).flatMap((one) => {
    const cell = fieldsOf(one)
    const [bssid, rssi] = [macOf(cell['bssid']), dbmOf(cell['signal'])]
    return bssid === undefined || rssi === undefined ? [] : [{ bssid, rssi }]
  })
  return { scan: { cells: cells.toSorted((a, b) => b.rssi - a.rssi).slice(0, telemetryLimits.scanned) } }
}

/** A scan in a city hears hundreds of cells; the nearest ones are not always the first. */
const MAX_SCANNED = 2048
