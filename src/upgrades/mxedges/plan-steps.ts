import { compareVersions } from '../../firmware/packages/compare-versions.ts'
import { type CatalogPackage, type PackageName, packageNames } from '../../firmware/packages/package.ts'
import { isOffered, resolvePackage } from '../../firmware/packages/resolve-package.ts'
import { nameUpgrade } from '../../rollout/events/name-upgrade.ts'
import type { Candidate } from '../../mxedges/upgrades/candidate.ts'
import { describeDowngrade } from '../../mxedges/upgrades/decide-step.ts'
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
  /** The requested steps that change nothing, because the appliance has their versions already. Absent: none. */
  readonly current?: readonly MxedgeStep[]
}

type Wanted = Pick<MxedgeUpgradeRequest, 'channel' | 'distro' | 'versions' | 'downgrades'>

/** Plans the commands to an appliance: the agent first, so that the newest one installs the rest. */
export function planSteps(appliance: Candidate, wanted: Wanted, catalog: readonly CatalogPackage[]): PlannedSteps {
  const { reported, upgradeId, upgradeName, isRegistered } = appliance
  if (upgradeId !== null) return skip(nameUpgrade(`it is in upgrade ${upgradeId}`, upgradeId, upgradeName))
  if (!isRegistered) return skip('it is not registered')
  if (reported === null) return skip('it has never connected')
  const method = wanted.distro === null ? 'service.upgrade' : 'distro.upgrade'
  if (!reported.methods.includes(method)) return skip(`its agent has no method ${method}`)
  if (wanted.distro !== null) {
    if (reported.distro === null) return skip('it does not report its distribution')
    return splitCurrent([{ distro: true, from: reported.distro, to: wanted.distro }])
  }
  const planned = packageNames.flatMap((service) => {
    const version = wanted.versions.get(service)
    return version === undefined ? [] : [planService(reported, { ...wanted, service, wanted: version }, catalog)]
  })
  return splitCurrent(planned)
}

/** @param planned Steps, and reasons for services that have none. */
function splitCurrent(planned: readonly (MxedgeStep | string)[]): PlannedSteps {
  const steps = planned.filter((each) => typeof each !== 'string')
  const current = steps.filter(isCurrent)
  return {
    steps: steps.filter((step) => !isCurrent(step)),
    reasons: planned.flatMap((each) => {
      if (typeof each === 'string') return [each]
      return isCurrent(each) ? [describeCurrent(each)] : []
    }),
    ...(current.length > 0 && { current }),
  }
}

function isCurrent({ from, to }: MxedgeStep): boolean {
  return from === to
}

function describeCurrent(step: MxedgeStep): string {
  return 'distro' in step ? `it runs the distribution ${step.to} already` : `${step.service} runs ${step.to} already`
}

/** True if the steps of another upgrade lead away from a version that the appliance has already. */
export function leadsAway(others: readonly MxedgeStep[], current: readonly MxedgeStep[]): boolean {
  const isSame = (a: MxedgeStep, b: MxedgeStep): boolean =>
    'service' in a && 'service' in b ? a.service === b.service : 'distro' in a && 'distro' in b
  return current.some((own) => others.some((other) => isSame(own, other) && other.to !== own.to))
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
  const step = { service, from, to, image_id, allow_downgrade: downgrades.has(service) }
  return describeDowngrade(step) ?? step
}

/** The maximum number of versions that an error text names. */
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
