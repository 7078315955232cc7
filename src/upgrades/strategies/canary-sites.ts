import { isDeepStrictEqual } from 'node:util'
import { Type } from 'typebox'
import { invalidField } from '../../platform/errors.ts'
import type { TargetFacts } from './strategy.ts'

/** The default of `canary_phases`. Source: spec, "Limits". */
export const DEFAULT_PERCENTS = [1, 10, 50, 100]

/** Cumulative numbers of sites, instead of shares of the devices. Signalbox's own field. */
export const canarySitesField = Type.Optional(
  Type.Array(Type.Integer({ minimum: 1, maximum: 10_000 }), {
    minItems: 1,
    maxItems: 100,
    description: 'how many sites are upgraded up to the end of each phase; the rest follow in a last one',
  }),
)

interface SitesBody {
  readonly canary_sites?: readonly number[]
  readonly canary_phases?: readonly number[]
  readonly phase_scope?: 'org' | 'site'
}

/** @throws AppError invalid for numbers that don't rise, and beside fields that contradict them. */
export function checkCanarySites(body: SitesBody, chosen: string): void {
  const { canary_sites: counts } = body
  if (counts === undefined) return
  if (chosen !== 'canary')
    throw invalidField('canary_sites', `is for the strategy canary only, and the strategy is ${chosen}`)
  // Some clients send the default of each field.
  if (body.canary_phases !== undefined && !isDeepStrictEqual(body.canary_phases, DEFAULT_PERCENTS))
    throw invalidField(
      'canary_sites',
      'is given with canary_phases, but phases are shares either of sites or of devices',
    )
  if (body.phase_scope === 'site')
    throw invalidField('canary_sites', 'is given with the phase_scope site, but its phases are those of all sites')
  if (counts.some((count, index) => index > 0 && count <= (counts[index - 1] ?? 0)))
    throw invalidField('canary_sites', 'must rise from phase to phase: they are cumulative numbers of sites')
}

/**
 * Puts whole sites into phases, in the order in which their first device comes.
 * @param ordered All targets, in the order in which canaries are chosen.
 */
export function cutBySites<T extends TargetFacts>(ordered: readonly T[], counts: readonly number[]): T[][] {
  const sites = [...Map.groupBy(ordered, ({ siteId }) => siteId).values()]
  return [...counts, sites.length].map((end, index) => sites.slice(counts[index - 1] ?? 0, end).flat())
}
