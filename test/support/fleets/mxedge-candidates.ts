import fc from 'fast-check'
import type { CatalogPackage } from '../../../src/firmware/packages/package.ts'
import { channels, packageNames } from '../../../src/firmware/packages/package.ts'
import type { Candidate } from '../../../src/mxedges/upgrades/candidate.ts'

const methods = ['service.upgrade', 'distro.upgrade'] as const

/** A registered appliance whose agent reports mxagent and tunterm. */
export const candidate: Candidate & { readonly reported: NonNullable<Candidate['reported']> } = {
  id: 'e1',
  name: 'Edge',
  mac: null,
  model: 'ME-VM',
  siteId: null,
  clusterId: null,
  registrationEpoch: 1,
  isRegistered: true,
  connected: true,
  reported: {
    distro: 'bookworm',
    services: [
      { name: 'mxagent', version: '1.0.0', state: 'running' },
      { name: 'tunterm', version: '2.0.0', state: 'running' },
    ],
    methods,
  },
  upgradeId: null,
  upgradeName: null,
}

export function packageOf(changes: Partial<CatalogPackage> = {}): CatalogPackage {
  const entry = { package: 'tunterm', version: '2.1.0', distro: null, channel: 'stable', isDefault: false } as const
  const made = { ...entry, ...changes }
  return { imageId: `${made.package} ${made.version} ${made.distro}`, ...made }
}

const version = fc.constantFrom('1.0.0', '1.9.0', '1.10.0', '2.0~rc1', '2.0', '2.0.0')
const distro = fc.constantFrom('bookworm', 'trixie')
const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null })

/** Catalogs with several versions of each package. */
export const catalogs = fc.array(
  fc
    .record({
      package: fc.constantFrom(...packageNames),
      version,
      distro: orNull(distro),
      channel: fc.constantFrom(...channels),
      isDefault: fc.boolean(),
    })
    .map(packageOf),
  { maxLength: 20 },
)

/** Appliances with distinct ids, some of them in the same clusters, some that can't be upgraded. */
export const candidates = fc
  .array(
    fc.record({
      clusterId: orNull(fc.constantFrom('c1', 'c2')),
      isRegistered: fc.boolean(),
      connected: fc.boolean(),
      upgradeId: orNull(fc.constant('another')),
      reported: orNull(
        fc.record({
          distro: orNull(distro),
          services: fc.uniqueArray(
            fc.record({
              name: fc.constantFrom(...packageNames),
              version: orNull(version),
              state: fc.constant('running' as const),
            }),
            { selector: ({ name }) => name },
          ),
          methods: fc.subarray([...methods]),
        }),
      ),
    }),
    { maxLength: 12 },
  )
  .map((all) => all.map((traits, index): Candidate => ({ ...candidate, ...traits, id: `e${index}` })))

export { version as packageVersion }
