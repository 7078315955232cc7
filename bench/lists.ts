import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { DEVICES, SITES, fillOrg } from './support/searches/filled-org.ts'
import { ROUNDS, measureSearches } from './support/searches/measure.ts'
import { searchesOf } from './support/searches/searches.ts'
import { startSignalbox } from './support/signalbox.ts'

export const options = { devices: { type: 'string' }, rounds: { type: 'string' } } as const

/** Measures how long the server takes for a page of many devices, one request at a time. */
export async function run(values: OptionValues): Promise<Figures> {
  const devices = parseCount(values, 'devices', DEVICES)
  if (devices > DEVICES) throw new Error(`--devices is ${devices}, but must be at most ${DEVICES}`)
  const rounds = parseCount(values, 'rounds', ROUNDS)
  const signalbox = await startSignalbox()
  try {
    const { siteId, macs } = await fillOrg(signalbox, devices)
    const searches = searchesOf({ devices, orgId: signalbox.orgId, siteId, macs })
    return { devices, sites: SITES, rounds, ...(await measureSearches(signalbox, searches, rounds)) }
  } finally {
    await signalbox.stop()
  }
}
