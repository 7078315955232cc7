import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import { invalidField } from '../../platform/errors.ts'
import { type Steps, visitInSteps } from '../../platform/queues/next-turn.ts'
import { indexRules } from '../planning/plan-selection.ts'
import { parseRule } from '../parse-rule.ts'
import { DEFAULT_PERCENTS } from './canary-sites.ts'
import type { PlanFacts, TargetFacts } from './strategy.ts'

/** Groups of devices, one phase each, instead of shares of the devices. Signalbox's own field. */
export const canaryGroupsField = Type.Optional(
  Type.Array(
    named(
      'UpgradeCanaryGroup',
      Type.Object({
        sitegroup_ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 1000 })),
        site_ids: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 10_000 })),
        rules: Type.Optional(Type.Array(Type.Record(Type.String(), Type.String()), { minItems: 1, maxItems: 100 })),
      }),
    ),
    {
      minItems: 1,
      maxItems: 100,
      description:
        'devices of a group are one phase: those at sites of these groups, at these sites, and of these rules; the rest follow in a last one',
    },
  ),
)

interface GroupsBody {
  readonly canary_groups?: Static<typeof canaryGroupsField>
  readonly canary_phases?: readonly number[]
  readonly canary_sites?: readonly number[]
}

/** Each criterion that is not null must hold. */
interface Group {
  readonly siteGroups: ReadonlySet<string> | null
  readonly sites: ReadonlySet<string> | null
  readonly matchesRule: ReturnType<typeof indexRules> | null
}

/** @throws AppError invalid beside fields that contradict them. */
export function checkCanaryGroups(body: GroupsBody, chosen: string): void {
  if (body.canary_groups === undefined) return
  if (chosen !== 'canary')
    throw invalidField('canary_groups', `is for the strategy canary only, and the strategy is ${chosen}`)
  // Some clients send the default of each field.
  const hasShares = body.canary_phases !== undefined && !isDeepStrictEqual(body.canary_phases, DEFAULT_PERCENTS)
  if (hasShares || body.canary_sites !== undefined) {
    const other = hasShares ? 'canary_phases' : 'canary_sites'
    throw invalidField('canary_groups', `is given with ${other}, but phases are either groups or shares`)
  }
}

/** @throws AppError invalid naming a group without a criterion, or a rule that has none. */
export function parseGroups(groups: GroupsBody['canary_groups']): readonly Group[] | null {
  if (groups === undefined) return null
  return groups.map(({ sitegroup_ids, site_ids, rules }, index) => {
    const field = `canary_groups.${index}`
    if (sitegroup_ids === undefined && site_ids === undefined && rules === undefined)
      throw invalidField(field, 'needs sitegroup_ids, site_ids or rules: without them every device is in it')
    return {
      siteGroups: idsOf(sitegroup_ids),
      sites: idsOf(site_ids),
      matchesRule:
        rules === undefined ? null : indexRules(rules.map((rule, place) => parseRule(rule, `${field}.rules.${place}`))),
    }
  })
}

function idsOf(ids: readonly string[] | undefined): ReadonlySet<string> | null {
  return ids === undefined ? null : new Set(ids.map((id) => id.toLowerCase()))
}

/** Each device is compared with up to 100 groups, whose rules may compare 100 different parts. */
const DEVICES_PER_STEP = 32

/** Puts each target into the phase of the first group that it belongs to, and the others into a last one. */
export function* cutByGroupsInSteps<T extends TargetFacts>(
  ordered: readonly T[],
  groups: readonly Group[],
  facts: PlanFacts,
): Steps<T[][]> {
  const phases = Array.from({ length: groups.length + 1 }, (): T[] => [])
  const cut = (target: T): unknown => phases[placeOf(target, groups, facts)]?.push(target)
  yield* visitInSteps(ordered, cut, DEVICES_PER_STEP)
  return phases
}

/** Returns the place of the first group that the target belongs to; that after the last group: it belongs to none. */
function placeOf(target: TargetFacts, groups: readonly Group[], facts: PlanFacts): number {
  const place = groups.findIndex((group) => isIn(target, group, facts))
  return place < 0 ? groups.length : place
}

function isIn(target: TargetFacts, { siteGroups, sites, matchesRule }: Group, facts: PlanFacts): boolean {
  const { siteId, model, role, name = null } = target
  return (
    (siteGroups === null || (facts.siteGroups?.get(siteId) ?? []).some((id) => siteGroups.has(id))) &&
    (sites === null || sites.has(siteId)) &&
    (matchesRule === null || matchesRule({ model, role, name }))
  )
}

/**
 * A mistyped group, or one whose devices are all in earlier groups, would open the next phase immediately.
 * @throws AppError invalid naming a group that gets none of the devices.
 */
export function* refuseEmptyGroupsInSteps(
  devices: readonly TargetFacts[],
  groups: readonly Group[],
  facts: PlanFacts,
): Steps<void> {
  if (devices.length === 0 || groups.length === 0) return
  const used = new Set<number>()
  const use = (device: TargetFacts): unknown => used.add(placeOf(device, groups, facts))
  yield* visitInSteps(devices, use, DEVICES_PER_STEP)
  const place = groups.findIndex((_, each) => !used.has(each))
  const group = groups[place]
  if (group === undefined) return
  let selects = false
  const select = (device: TargetFacts): unknown => (selects ||= isIn(device, group, facts))
  yield* visitInSteps(devices, select, DEVICES_PER_STEP)
  throw invalidField(
    `canary_groups.${place}`,
    selects ? 'selects only devices that earlier groups have' : `selects none of the ${devices.length} devices`,
  )
}
