import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { candidateOf, catalogEntry } from '../test/support/fleets/candidates.ts'
import type { Candidate } from '../src/rollout/store-candidates.ts'
import type { SiteTimes } from '../src/upgrades/planning/plan-times.ts'
import type { Planned } from '../src/upgrades/planning/plan-targets.ts'
import { planUpgradeInSteps } from '../src/upgrades/planning/plan-upgrade.ts'
import type { RadioFacts } from '../src/upgrades/radio/radio.ts'
import { parseOrgUpgrade } from '../src/upgrades/wire-parse.ts'
import { atOnce } from '../src/platform/queues/next-turn.ts'

export const options = { devices: { type: 'string' }, sites: { type: 'string' } } as const

const DEFAULT_DEVICES = 100_000
const DEFAULT_SITES = 200
/** The distance of access points in an office. */
const SPACING_M = 15
/** The offsets of the access points that an access point hears, in its row and in the next ones. */
const HEARD = [1, 2, 3, 10, 11, 20]

/**
 * Measures how long it takes to plan an upgrade of access points in batches of radio neighbors: by scans, in which each
 * hears twelve others, and by their places on a floor, where each pair is compared.
 */
export function run(values: OptionValues): Promise<Figures> {
  const devices = parseCount(values, 'devices', DEFAULT_DEVICES)
  const sites = parseCount(values, 'sites', DEFAULT_SITES)
  const perSite = Math.ceil(devices / sites)
  const fleet = Array.from({ length: devices }, (_, index) => deviceOf(index, perSite))
  const scan = measure(fleet, sites, scanOf)
  const map = measure(fleet, sites, placeOf)
  const figures = { scan_s: scan.wallS, scan_cpu_s: scan.cpuS, map_s: map.wallS, map_cpu_s: map.cpuS }
  return Promise.resolve({ devices, sites, ...figures })
}

type FactsOf = (index: number, place: number) => Partial<RadioFacts>

const macOf = (index: number): string => index.toString(16).padStart(12, '0')

const scanOf: FactsOf = (index) => ({
  scan: HEARD.flatMap((step) => [index - step, index + step]).map((other) => {
    return { bssid: macOf(Math.max(0, other)), rssi: -60 - (Math.abs(other - index) % 20) }
  }),
})

const placeOf: FactsOf = (_index, place) => ({
  position: { mapId: 'floor', x: SPACING_M * (place % 22), y: SPACING_M * Math.floor(place / 22) },
})

function deviceOf(index: number, perSite: number): Candidate & { readonly place: number } {
  const mac = macOf(index)
  const siteId = `site-${Math.floor(index / perSite)}`
  return { ...candidateOf(mac, { siteId }), place: index % perSite }
}

/** Returns seconds, and those of the processors. */
function measure(fleet: readonly (Candidate & { readonly place: number })[], sites: number, factsOf: FactsOf) {
  const radio = new Map(
    fleet.map(({ mac, place }, index) => {
      const unknown = { bssids: [mac], scan: null, position: null, parent: null, isMesh: false }
      return [mac, Object.assign(unknown, factsOf(index, place))]
    }),
  )
  const entry = catalogEntry('2.0')
  const plans = fleet.map((device): Planned => ({ kind: 'upgrade', device, entry, force: false }))
  const now = new Date()
  const siteUpgrades = Array.from({ length: sites }, (_, index) => {
    return {
      site: { id: `site-${index}`, name: `${index}`, timezone: 'UTC', groups: [] },
      upgradeId: `upgrade-${index}`,
    }
  })
  const times = new Map<string, SiteTimes>(
    siteUpgrades.map(({ site }) => [
      site.id,
      { startAt: now, rebootAt: now, timezone: 'UTC', windows: [], warnings: [] },
    ]),
  )
  const request = parseOrgUpgrade({ strategy: 'rrm' })
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()]
  atOnce(
    planUpgradeInSteps(request, {
      id: 'upgrade',
      siteUpgrades,
      times,
      plans,
      radio,
      cabled: [],
      busy: new Map(),
      now,
      nowMs: 0,
    }),
  )
  const { user, system } = process.cpuUsage(startCpu)
  const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000
  return { wallS: rounded((performance.now() - startMs) / 1000), cpuS: rounded((user + system) / 1e6) }
}
