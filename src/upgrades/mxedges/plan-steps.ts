import { compareVersions } from '../../firmware/packages/compare-versions.ts'
import { type CatalogPackage, type PackageName, packageNames } from '../../firmware/packages/package.ts'
import { isOffered, resolvePackage } from '../../firmware/packages/resolve-package.ts'
import type { Candidate } from '../../mxedges/upgrades/candidate.ts'
import type { MxedgeStep, ServiceStep } from '../../mxedges/upgrades/upgrade.ts'
import { invalidField } from '../../platform/errors.ts'
import type { MxedgeUpgradeRequest } from './request.ts'

/**
 * The steps of an upgrade for one appliance, and the reasons for services that it leaves out. Without steps the
 * appliance is skipped.
 */
export interface PlannedSteps {
  readonly steps: readonly MxedgeStep[]
  readonly reasons: readonly string[]
}

type Wanted = Pick<MxedgeUpgradeRequest, 'channel' | 'distro' | 'versions' | 'downgrades'>

/** Plans the commands to an appliance: the agent first, so that the newest one installs the rest. */
export function planSteps(appliance: Candidate, wanted: Wanted, catalog: readonly CatalogPackage[]): PlannedSteps {
  const { reported, upgradeId, isRegistered } = appliance
  if (upgradeId !== null) return skip(`it is in upgrade ${upgradeId}`)
  if (!isRegistered) return skip('it is not registered')
  if (reported === null) return skip('it has never connected')
  const method = wanted.distro === null ? 'service.upgrade' : 'distro.upgrade'
  if (!reported.methods.includes(method)) return skip(`its agent has no method ${method}`)
  if (wanted.distro !== null) {
    if (reported.distro === null) return skip('it does not report its distribution')
    if (reported.distro === wanted.distro) return skip(`it runs the distribution ${wanted.distro} already`)
    return { steps: [{ distro: true, from: reported.distro, to: wanted.distro }], reasons: [] }
  }
  const planned = packageNames.flatMap((service) => {
    const version = wanted.versions.get(service)
    return version === undefined ? [] : [planService(reported, { ...wanted, service, wanted: version }, catalog)]
  })
  return {
    steps: planned.filter((each) => typeof each !== 'string'),
    reasons: planned.filter((each) => typeof each === 'string'),
  }
}

function skip(reason: string): PlannedSteps {
  return { steps: [], reasons: [reason] }
}

interface WantedService extends Pick<Wanted, 'channel' | 'downgrades'> {
  readonly service: PackageName
  readonly wanted: string
}

/** @returns The step, or the reason why there is none. */
function planService(
  { services, distro }: NonNullable<Candidate['reported']>,
  { service, wanted, channel, downgrades }: WantedService,
  catalog: readonly CatalogPackage[],
): ServiceStep | string {
  const from = services.find(({ name }) => name === service)?.version ?? null
  if (from === null) return `it has no service ${service}`
  const found = resolvePackage(catalog, { service, wanted, channel, distro })
  if (found === null)
    return `there is no ${service} ${wanted} for its distribution${distro === null ? '' : ` ${distro}`}`
  const { version: to, imageId: image_id } = found
  if (to === from) return `${service} runs ${to} already`
  const allow_downgrade = downgrades.has(service)
  if (!allow_downgrade && compareVersions(to, from) < 0)
    return `${service} ${to} is lower than its ${from}, and allow_downgrades.${service} is not set`
  return { service, from, to, image_id, allow_downgrade }
}

/** An error text names no more versions. */
const MAX_NAMED = 10

/** @throws AppError invalid for a version that the catalog has for no distribution. */
export function refuseUnknownVersions(
  { channel, distro, versions }: Pick<Wanted, 'channel' | 'distro' | 'versions'>,
  catalog: readonly CatalogPackage[],
): void {
  if (distro !== null) return
  for (const [service, wanted] of versions) {
    const packages = catalog.filter((entry) => entry.package === service)
    const offered = packages.filter((entry) => isOffered(entry, channel))
    if (wanted === 'latest' || wanted === 'default') {
      if (offered.some(({ isDefault }) => isDefault || wanted === 'latest')) continue
      throw invalidField(`versions.${service}`, `the channel ${channel} has no ${wanted} version of ${service}`)
    }
    if (packages.some(({ version }) => version === wanted)) continue
    const known = [...new Set(packages.map(({ version }) => version))].toSorted(compareVersions).toReversed()
    const named =
      known.length === 0 ? 'the catalog has no version of it' : `there are ${known.slice(0, MAX_NAMED).join(', ')}`
    throw invalidField(`versions.${service}`, `there is no version ${wanted} of ${service}; ${named}`)
  }
}
