import type { NewTarget, NewUpgrade } from '../../rollout/store-create.ts'
import type { StoredKind, StoredPlan } from './preview.ts'

/** Encodes a plan for its storage. */
export function encodePlan({ org, sites, targets }: NewUpgrade): StoredPlan {
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
  return {
    phase_plan: org.phasePlan,
    download_plan: org.downloadPlan,
    sites: sites.map(({ siteId, startAt, rebootAt, plan, notes }) => {
      return { site_id: siteId, start_at: startAt.toISOString(), reboot_at: rebootAt.toISOString(), plan, notes }
    }),
    targets: Array.from(targets, (target) => {
      const { mac, upgradeId, phase, ordinal, downloadPhase, rank } = target
      const place = [mac, siteIndexes.get(upgradeId) ?? 0, indexOfKind(target), phase, ordinal] as const
      return downloadPhase === null && rank === null ? place : ([...place, downloadPhase, rank] as const)
    }),
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
 * @param fresh The same upgrade, planned again: it has the current ids and times. findDifferences() finds no difference
 *   between the two.
 */
export function decodePlan(stored: StoredPlan, fresh: NewUpgrade): NewUpgrade {
  const places = new Map<string, Place>()
  for (const [mac, , , phase, ordinal, downloadPhase = null, rank = null] of stored.targets)
    places.set(mac, { phase, ordinal, downloadPhase, rank })
  const sites = new Map(stored.sites.map((site) => [site.site_id, site]))
  return {
    org: { ...fresh.org, phasePlan: stored.phase_plan, downloadPlan: stored.download_plan },
    sites: fresh.sites.map((site) => {
      const known = sites.get(site.siteId)
      return known === undefined ? site : Object.assign({}, site, { plan: known.plan, notes: known.notes })
    }),
    targets: { [Symbol.iterator]: () => placeAll(fresh.targets, places) },
  }
}

type Place = Pick<NewTarget, 'phase' | 'ordinal' | 'downloadPhase' | 'rank'>

function* placeAll(targets: Iterable<NewTarget>, places: ReadonlyMap<string, Place>): Generator<NewTarget> {
  for (const target of targets) yield Object.assign({}, target, places.get(target.mac))
}
