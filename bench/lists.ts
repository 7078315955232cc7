import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { DEVICES, SITES, fillOrg } from './support/filled-org.ts'
import { ROUNDS, measureSearches } from './support/measure.ts'
import { searchesOf } from './support/searches.ts'
import { startSignalbox } from './support/signalbox.ts'

export const options = { rounds: { type: 'string' } } as const

/** Measures how long the server takes for a page of a hundred thousand devices, one request at a time. */
export async function run(values: OptionValues): Promise<Figures> {
  const rounds = parseCount(values, 'rounds', ROUNDS)
  const signalbox = await startSignalbox()
  try {
    const { siteId, macs } = await fillOrg(signalbox)
    const searches = searchesOf({ orgId: signalbox.orgId, siteId, macs })
    return { devices: DEVICES, sites: SITES, rounds, ...(await measureSearches(signalbox, searches, rounds)) }
  } finally {
    await signalbox.stop()
  }
}
