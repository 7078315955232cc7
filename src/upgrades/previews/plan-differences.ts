import { isDeepStrictEqual } from 'node:util'
import { describeWindows } from '../../orgs/windows/windows.ts'
import { type Steps, visitInSteps } from '../../platform/queues/next-turn.ts'
import type { UpgradePlan } from '../../rollout/rollout.ts'
import type { NewSiteUpgrade, NewTarget, NewUpgrade } from '../../rollout/store-create.ts'
import { kindOf } from './encode-plan.ts'
import type { PlanDifference, StoredKind, StoredPlan, StoredSite } from './preview.ts'

interface StoredTarget {
  readonly siteId: string
  readonly kind: StoredKind
}

/**
 * Finds the facts that have changed since a plan was made, as far as it relied on them: which devices are upgraded, at
 * which site, from and to which version, and when their sites start. The connection of a device is not included: it
 * decides the order of a plan, which the plan retains.
 * @param fresh The same upgrade, planned again.
 */
export function* findDifferencesInSteps(stored: StoredPlan, fresh: NewUpgrade): Steps<PlanDifference[]> {
  return [...compareSites(stored, fresh), ...(yield* compareTargetsInSteps(stored, fresh))]
}

function* compareTargetsInSteps(
  { sites, kinds, targets }: StoredPlan,
  fresh: NewUpgrade,
): Steps<readonly PlanDifference[]> {
  const before = new Map<string, StoredTarget>()
  yield* visitInSteps(targets, ([mac, site, kind]) => {
    const siteId = sites[site]?.site_id
    const facts = kinds[kind]
    if (siteId !== undefined && facts !== undefined) before.set(mac, { siteId, kind: facts })
  })
  const siteIds = new Map(fresh.sites.map(({ id, siteId }) => [id, siteId]))
  const reasons = new Map(fresh.sites.flatMap(({ notes }) => notes.map(({ mac, reason }) => [mac, reason] as const)))
  const differences: PlanDifference[] = []
  const gone = new Set(before.keys())
  yield
  yield* visitInSteps(fresh.targets, (target) => {
    const { mac } = target
    gone.delete(mac)
    const reason = compareTarget(before.get(mac), target, siteIds.get(target.upgradeId))
    if (reason !== null) differences.push({ mac, siteId: null, reason })
  })
  for (const mac of gone) {
    if (isRight(before.get(mac)?.kind) && !reasons.has(mac)) continue
    const reason = `can't be upgraded any more: ${reasons.get(mac) ?? 'it is not selected'}`
    differences.push({ mac, siteId: null, reason })
  }
  return differences
}

function compareTarget(known: StoredTarget | undefined, target: NewTarget, siteId: string | undefined): string | null {
  if (isRight(target) && (known === undefined || isRight(known.kind))) return null
  if (known === undefined) return 'is not in the plan'
  if (siteId !== known.siteId) return `is at the site ${siteId}, not at ${known.siteId}`
  return compareKinds(known.kind, target)
}

/** True for a device that runs its version already: nothing is done with it, whatever the plan knew of it. */
function isRight(device: Pick<NewTarget, 'state'> | undefined): boolean {
  return device?.state === 'skipped'
}

function compareKinds(before: StoredKind, target: NewTarget): string | null {
  const now = kindOf(target)
  if (before.model !== now.model) return `is a ${now.model}, not a ${before.model}`
  if (before.from_version !== now.from_version)
    return `runs ${now.from_version ?? 'no known version'}, not ${before.from_version ?? 'no known version'}`
  if (before.target_version !== now.target_version)
    return `would get ${now.target_version}, not ${before.target_version}`
  if (before.image_id !== now.image_id) return `would get another image of ${now.target_version}`
  if (!isDeepStrictEqual(before.via, now.via)) return `would go ${describeVia(now)}, not ${describeVia(before)}`
  return before.state === now.state ? null : `would be ${now.state}, not ${before.state}`
}

function describeVia({ via, target_version: to }: StoredKind): string {
  return via === undefined ? `to ${to} directly` : `to ${to} over ${via.map(({ version }) => version).join(', then ')}`
}

/** Sites without devices are not compared: nothing happens there. */
function compareSites(stored: StoredPlan, fresh: NewUpgrade): PlanDifference[] {
  const before = new Map(stored.sites.map((site) => [site.site_id, site]))
  return fresh.sites.flatMap((site) => {
    const known = before.get(site.siteId)
    if (known === undefined || known.plan.planned === 0 || site.plan.planned === 0) return []
    const reason = compareTimes(known, site, fresh.org.createdAt) ?? compareWindows(known.plan, site.plan)
    return reason === null ? [] : [{ mac: null, siteId: site.siteId, reason }]
  })
}

/** A start that has come since means now, as it did for the plan. */
function compareTimes(before: StoredSite, site: NewSiteUpgrade, now: Date): string | null {
  const startAt = latest(new Date(before.start_at), now)
  if (startAt.getTime() !== site.startAt.getTime())
    return `would start at ${site.startAt.toISOString()}, not at ${startAt.toISOString()}`
  const rebootAt = latest(new Date(before.reboot_at), startAt)
  if (rebootAt.getTime() === site.rebootAt.getTime()) return null
  return `would reboot at ${site.rebootAt.toISOString()}, not at ${rebootAt.toISOString()}`
}

/** The time of windows is that of the site's clocks. */
function compareWindows(before: UpgradePlan, now: UpgradePlan): string | null {
  const [known, present] = [describeTimes(before), describeTimes(now)]
  return known === present ? null : `has ${present}, not ${known}`
}

function describeTimes({ windows, timezone }: UpgradePlan): string {
  return windows === undefined
    ? 'no maintenance window'
    : `the maintenance windows ${describeWindows(windows)} (${timezone})`
}

function latest(a: Date, b: Date): Date {
  return a > b ? a : b
}
