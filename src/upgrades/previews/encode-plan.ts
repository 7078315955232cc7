import { type Steps, visitInSteps } from '../../platform/queues/next-turn.ts'
import type { NewTarget, NewUpgrade } from '../../rollout/store-create.ts'
import type { UpgradeNote } from '../../rollout/rollout.ts'
import type { StoredKind, StoredPlan, StoredSite } from './preview.ts'

/** Encodes a plan for its storage. */
export function* encodePlanInSteps({ org, sites, targets }: NewUpgrade): Steps<StoredPlan> {
  const siteIndexes = new Map(sites.map(({ id }, index) => [id, index]))
  const kinds: StoredKind[] = []
  const kindIndexes = new Map<string, number>()
  const indexOfKind = (target: NewTarget): number => {
    const kind = kindOf(target)
    const key = JSON.stringify(kind)
    const known = kindIndexes.get(key)
    if (known !== undefined) return known
    kindIndexes.set(key, kinds.length)
    return kinds.push(kind) - 1
  }
  const encoded: StoredPlan['targets'][number][] = []
  yield* visitInSteps(targets, (target) => {
    const { mac, upgradeId, phase, ordinal, downloadPhase, rank } = target
    const place = [mac, siteIndexes.get(upgradeId) ?? 0, indexOfKind(target), phase, ordinal] as const
    encoded.push(downloadPhase === null && rank === null ? place : ([...place, downloadPhase, rank] as const))
  })
  return {
    phase_plan: org.phasePlan,
    download_plan: org.downloadPlan,
    sites: sites.map(({ siteId, startAt, rebootAt, plan, notes }) => {
      return { site_id: siteId, start_at: startAt.toISOString(), reboot_at: rebootAt.toISOString(), plan, notes }
    }),
    targets: encoded,
    kinds,
  }
}

export function kindOf({ model, imageId, fromVersion, targetVersion, path, state }: NewTarget): StoredKind {
  const last = path?.at(-1) ?? { version: targetVersion, image_id: imageId }
  const kind = { model, image_id: last.image_id, from_version: fromVersion, target_version: last.version, state }
  if (path === null) return kind
  return { ...kind, via: path.slice(0, -1).map(({ version, image_id: id }) => ({ version, image_id: id })) }
}

/**
 * Returns the upgrade of a stored plan.
 * @param fresh The same upgrade, planned again: it has the current ids and times. findDifferencesInSteps() finds none
 *   between the two.
 */
export function* decodePlanInSteps(stored: StoredPlan, fresh: NewUpgrade): Steps<NewUpgrade> {
  const places = new Map<string, Place>()
  yield* visitInSteps(stored.targets, ([mac, , , phase, ordinal, downloadPhase = null, rank = null]) => {
    places.set(mac, { phase, ordinal, downloadPhase, rank })
  })
  const sites = new Map(stored.sites.map((site) => [site.site_id, site]))
  const joined = yield* findJoinedInSteps(stored, fresh, places)
  const notesOf = ({ notes }: StoredSite): readonly UpgradeNote[] =>
    joined.size === 0 ? notes : notes.filter(({ mac }) => mac === undefined || !joined.has(mac))
  return {
    org: { ...fresh.org, phasePlan: stored.phase_plan, downloadPlan: stored.download_plan },
    sites: fresh.sites.map((site) => {
      const known = sites.get(site.siteId)
      return known === undefined ? site : Object.assign({}, site, { plan: known.plan, notes: notesOf(known) })
    }),
    targets: { [Symbol.iterator]: () => placeAll(fresh.targets, places) },
  }
}

/** Finds the devices that the plan left out, and that run their version by now. Its notes about them are no longer true. */
function* findJoinedInSteps(
  { sites }: StoredPlan,
  fresh: NewUpgrade,
  places: ReadonlyMap<string, Place>,
): Steps<ReadonlySet<string>> {
  const leftOut = new Set(
    sites.flatMap(({ notes }) => notes.flatMap(({ mac }) => (mac === undefined || places.has(mac) ? [] : [mac]))),
  )
  const joined = new Set<string>()
  if (leftOut.size === 0) return joined
  yield* visitInSteps(fresh.targets, ({ mac }) => {
    if (leftOut.has(mac)) joined.add(mac)
  })
  return joined
}

type Place = Pick<NewTarget, 'phase' | 'ordinal' | 'downloadPhase' | 'rank'>

function* placeAll(targets: Iterable<NewTarget>, places: ReadonlyMap<string, Place>): Generator<NewTarget> {
  for (const target of targets) yield Object.assign({}, target, places.get(target.mac))
}
