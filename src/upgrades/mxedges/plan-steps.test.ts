import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  candidate,
  candidates,
  catalogs,
  packageOf,
  packageVersion,
} from '../../../test/support/fleets/mxedge-candidates.ts'
import { compareVersions } from '../../firmware/packages/compare-versions.ts'
import { type PackageName, channels, packageNames } from '../../firmware/packages/package.ts'
import { fitsDistro, isOffered } from '../../firmware/packages/resolve-package.ts'
import { limitToWindows } from './plan-places.ts'
import { leadsAway, planSteps, refuseUnknownVersions } from './plan-steps.ts'
import type { MxedgeUpgradeRequest } from './request.ts'

type Wanted = Parameters<typeof planSteps>[1]

const nothing: Wanted = { channel: 'stable', distro: null, versions: new Map(), downgrades: new Set() }
const wants = (versions: Partial<Record<PackageName, string>>, more: Partial<Wanted> = {}): Wanted => ({
  ...nothing,
  versions: new Map(Object.entries(versions) as [PackageName, string][]),
  ...more,
})

describe('the steps of an appliance', () => {
  const distroStep = { distro: true, from: 'bookworm', to: 'trixie' } as const
  const catalog = [
    packageOf(),
    packageOf({ version: '2.2.0', channel: 'beta' }),
    packageOf({ version: '1.5.0', isDefault: true }),
    packageOf({ package: 'mxagent', version: '1.1.0' }),
    packageOf({ package: 'mxagent', version: '1.1.0', distro: 'bookworm' }),
  ]

  test('are the agent first, then the services, each with what it runs', () => {
    const { steps, reasons } = planSteps(candidate, wants({ tunterm: 'latest', mxagent: '1.1.0' }), catalog)
    expect(steps).toEqual([
      { service: 'mxagent', from: '1.0.0', to: '1.1.0', image_id: 'mxagent 1.1.0 bookworm', allow_downgrade: false },
      { service: 'tunterm', from: '2.0.0', to: '2.1.0', image_id: 'tunterm 2.1.0 null', allow_downgrade: false },
    ])
    expect(reasons).toEqual([])
  })

  test.each<[string, Wanted, string]>([
    ['has no such package', wants({ tunterm: '2.0.0' }), 'there is no tunterm 2.0.0 for its distribution bookworm'],
    [
      'is newer',
      wants({ tunterm: 'default' }),
      'tunterm 1.5.0 is lower than its 2.0.0, and allow_downgrades.tunterm is not set',
    ],
    ['is missing', wants({ radsecproxy: 'latest' }), 'it has no service radsecproxy'],
    [
      'has none in the channel',
      wants({ mxagent: 'default' }),
      'there is no mxagent default for its distribution bookworm',
    ],
  ])('leave out a service that %s', (_title, wanted, reason) => {
    expect(planSteps(candidate, wanted, catalog)).toEqual({ steps: [], reasons: [reason] })
  })

  test('leave out a service that runs the version', () => {
    const own = [packageOf({ version: '2.0.0' })]
    const planned = planSteps(candidate, wants({ tunterm: 'latest' }), own)
    expect(planned).toMatchObject({ steps: [], reasons: ['tunterm runs 2.0.0 already'] })
    const [current] = planned.current ?? []
    if (current === undefined) throw new Error('no step')
    expect(current).toMatchObject({ service: 'tunterm', from: '2.0.0', to: '2.0.0' })
    expect(leadsAway([{ ...current, to: '2.1.0' }], [current])).toBe(true)
    for (const other of [current, { ...current, service: 'mxagent', to: '2.1.0' }, distroStep])
      expect(leadsAway([other], [current])).toBe(false)
  })

  test('are left out where no maintenance window is long enough, and a service that runs the version is still known', () => {
    const planned = planSteps(candidate, wants({ tunterm: '2.1.0', mxagent: '1.0.0' }), [
      packageOf(),
      packageOf({ package: 'mxagent', version: '1.0.0', distro: 'bookworm' }),
    ])
    expect(planned.steps).toHaveLength(1)
    const windows = [{ days: ['mon'], start: '02:00', end: '02:01' }] as const
    const limited = limitToWindows(planned, { site_id: null, timezone: 'UTC', windows })
    expect(limited.steps).toEqual([])
    expect(limited.reasons).toMatchObject([expect.stringContaining('no maintenance window of its site')])
    expect(limited.current).toMatchObject([{ service: 'mxagent', from: '1.0.0', to: '1.0.0' }])
  })

  test('lower a version where that is allowed', () => {
    const wanted = wants({ tunterm: 'default' }, { downgrades: new Set(['tunterm']) })
    expect(planSteps(candidate, wanted, catalog).steps).toMatchObject([{ to: '1.5.0', allow_downgrade: true }])
  })

  test('are of the channel', () => {
    const wanted = wants({ tunterm: 'latest' }, { channel: 'beta' })
    expect(planSteps(candidate, wanted, catalog).steps).toMatchObject([{ to: '2.2.0' }])
  })

  test('are one for a distribution, and no services beside it', () => {
    const wanted = wants({ tunterm: 'latest' }, { distro: 'trixie' })
    const step = { distro: true, from: 'bookworm', to: 'trixie' }
    expect(planSteps(candidate, wanted, catalog)).toEqual({ steps: [step], reasons: [] })
    expect(planSteps(candidate, { ...wanted, distro: 'next' }, []).steps).toEqual([{ ...step, to: 'next' }])
  })

  const { reported } = candidate
  test.each([
    [{ upgradeId: 'u1', isRegistered: false }, 'it is in upgrade u1'],
    [{ upgradeId: 'u1', upgradeName: 'Friday' }, 'it is in upgrade "Friday" (u1)'],
    [{ isRegistered: false, reported: null }, 'it is not registered'],
    [{ reported: null }, 'it has never connected'],
    [{ reported: { ...reported, methods: [] } }, 'its agent has no method distro.upgrade'],
    [{ reported: { ...reported, distro: null } }, 'it does not report its distribution'],
  ])('are none, with the first reason, for %j', (traits, reason) => {
    const planned = planSteps({ ...candidate, ...traits }, { ...nothing, distro: 'trixie' }, [])
    expect(planned).toEqual({ steps: [], reasons: [reason] })
  })

  test('leave out the distribution that it runs', () => {
    const planned = planSteps(
      { ...candidate, reported: { ...reported, distro: 'trixie' } },
      { ...nothing, distro: 'trixie' },
      [],
    )
    const current = [{ distro: true, from: 'trixie', to: 'trixie' }]
    expect(planned).toEqual({ steps: [], reasons: ['it runs the distribution trixie already'], current })
    expect(leadsAway([{ distro: true, from: 'trixie', to: 'next' }], planned.current ?? [])).toBe(true)
  })
})

const wanted = fc.record({
  channel: fc.constantFrom(...channels),
  distro: fc.constant(null),
  versions: fc
    .dictionary(fc.constantFrom(...packageNames), fc.oneof(fc.constantFrom('latest', 'default'), packageVersion), {
      noNullPrototype: true,
    })
    .map((versions) => new Map(Object.entries(versions) as [PackageName, string][])),
  downgrades: fc.subarray([...packageNames]).map((names) => new Set(names)),
})

test('whatever is wanted: each step installs a fitting package, changes the version, and lowers none without leave', () => {
  fc.assert(
    fc.property(candidates, wanted, catalogs, (appliances, request, catalog) => {
      for (const appliance of appliances) {
        const { steps, reasons } = planSteps(appliance, request, catalog)
        const services = steps.map((step) => ('service' in step ? step.service : ''))
        expect(services).toEqual(packageNames.filter((name) => services.includes(name)))
        // Every requested service is a step or has a reason.
        const isUpgradable =
          appliance.upgradeId === null &&
          appliance.isRegistered &&
          appliance.reported?.methods.includes('service.upgrade') === true
        expect(steps.length + reasons.length).toBe(isUpgradable ? request.versions.size : 1)
        for (const step of steps) {
          if (!('service' in step)) throw new Error('a distribution was not asked for')
          const image = catalog.filter(({ imageId }) => imageId === step.image_id)
          const fits = image.some(
            (entry) =>
              entry.package === step.service &&
              entry.version === step.to &&
              fitsDistro(entry, appliance.reported?.distro ?? null) &&
              (request.versions.get(entry.package) === entry.version || isOffered(entry, request.channel)),
          )
          expect(fits).toBe(true)
          expect(step.to).not.toBe(step.from)
          expect(step.allow_downgrade || compareVersions(step.to, step.from ?? '') > 0 || step.from === null).toBe(true)
        }
      }
    }),
  )
})

describe('a version that the catalog does not have', () => {
  const catalog = [packageOf(), packageOf({ version: '2.10.0', channel: 'beta' })]
  const refuse = (request: Partial<MxedgeUpgradeRequest>) => () =>
    refuseUnknownVersions({ ...nothing, ...request }, catalog)

  test.each([
    [wants({ tunterm: '3' }), 'versions.tunterm: there is no version 3 of tunterm; there are 2.10.0, 2.1.0'],
    [wants({ mxagent: '3' }), 'versions.mxagent: there is no version 3 of mxagent; the catalog has no version of it'],
    [wants({ mxagent: 'latest' }), 'versions.mxagent: the channel stable has no latest version of mxagent'],
    [
      wants({ tunterm: 'default' }, { channel: 'beta' }),
      'versions.tunterm: the channel beta has no default version of tunterm',
    ],
  ])('is refused by the field', (request, reason) => {
    expect(refuse(request)).toThrow(reason)
  })

  test('is not refused with a distribution, nor where another channel has it', () => {
    expect(refuse(wants({ tunterm: '3' }, { distro: 'trixie' }))).not.toThrow()
    expect(refuse(wants({ tunterm: '2.10.0' }))).not.toThrow()
    expect(refuse(wants({ tunterm: 'latest' }))).not.toThrow()
  })
})
