import { isDeepStrictEqual } from 'node:util'
import { type PackageName, packageNames } from '../../firmware/packages/package.ts'
import { mergeDocument, omitFields } from '../../http/bodies/documents.ts'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import type { MxedgeUpgrade } from '../../mxedges/upgrades/store-records.ts'
import { invalidField } from '../../platform/errors.ts'
import { START_PHASE } from '../../rollout/rollout.ts'
import { parseStartGate, refuseUngated } from '../strategies/gate-fields.ts'
import { commonStrategies } from '../strategies/index.ts'
import type { Strategy } from '../strategies/strategy.ts'
import { parseEnd, parseInstants, parseWindows } from '../wire-parse.ts'
import type { MxedgeUpgradeRequest, MxedgeUpgradeRevision } from './request.ts'
import { type MxedgeUpgradeBody, presentMxedgeUpgradeItem } from './wire.ts'

/**
 * Parses the body of an upgrade request, with the defaults filled in.
 * @throws AppError invalid naming a field with an inconsistent value.
 */
export function parseMxedgeUpgrade(body: MxedgeUpgradeBody): MxedgeUpgradeRequest {
  const { mxedge_ids: ids, strategy: name = 'big_bang', channel = 'stable', distro = null, start_time } = body
  for (const each of Object.values<Strategy>(commonStrategies)) each.check?.(body, name)
  const strategy = (commonStrategies as Readonly<Record<string, Strategy>>)[name] ?? commonStrategies.big_bang
  refuseGates(body, strategy)
  const wanted = entriesOf('versions', body.versions).filter(([, version]) => version !== 'current')
  const downgrades = entriesOf('allow_downgrades', body.allow_downgrades).filter(([, isAllowed]) => isAllowed)
  return {
    planId: body.plan_id ?? null,
    mxedgeIds: ids === undefined ? null : [...new Set(ids.map((id) => id.toLowerCase()))],
    strategy: strategy.name,
    phasing: strategy.parse(body),
    channel,
    distro,
    versions: new Map(wanted),
    downgrades: new Set(downgrades.map(([service]) => service)),
    startGate: parseStartGate(body.phase_gates),
    notBefore: parseInstants(body.phase_gates),
    // Clients that always send a number send 0 for "now".
    startAt: start_time === undefined || start_time === 0 ? null : new Date(start_time * 1000),
    endsAt: parseEnd(body.end_time),
    windows: parseWindows(body.maintenance_windows),
    supersede: body.supersede ?? false,
    includeNew: parseInclusion(body),
    notes: listWithoutEffect(body).map((reason) => ({ reason })),
    document: body,
  }
}

/** @throws AppError invalid for a gate at which appliances can't wait. */
function refuseGates({ phase_gates: gates = [] }: MxedgeUpgradeBody, strategy: Strategy): void {
  for (const [index, { phase, phase_of: of }] of gates.entries()) {
    if (of === 'downloads')
      throw invalidField(
        `phase_gates.${index}.phase_of`,
        'is downloads, but edge appliances download in the phases of their installations',
      )
    if (phase !== START_PHASE) refuseUngated(strategy)
  }
}

/** @throws AppError invalid beside a list of all appliances that are meant. */
function parseInclusion({ include_new: includeNew = false, mxedge_ids: ids }: MxedgeUpgradeBody): boolean {
  if (includeNew && ids !== undefined)
    throw invalidField('include_new', 'is given with mxedge_ids, which name all edge appliances')
  return includeNew
}

/**
 * Applies a change to an upgrade: the fields that it names replace those of the former request, or are unset. Fields with the value that
 * the record shows change nothing, because clients send whole records back.
 */
export function reviseMxedgeUpgrade(upgrade: MxedgeUpgrade, body: MxedgeUpgradeBody): MxedgeUpgradeRevision {
  const { request } = upgrade
  const shown: Readonly<Record<string, unknown>> = presentMxedgeUpgradeItem(upgrade)
  const changes = Object.entries(omitFields(body, readOnlyOf('MxedgeUpgrade'))).filter(([field, value]) =>
    field.startsWith('-')
      ? Object.hasOwn(request, field.slice(1))
      : ![request[field], shown[field]].some((present) => isDeepStrictEqual(present, value)),
  )
  const document = mergeDocument(request, Object.fromEntries(changes))
  const keepsPlan = changes.every(([field]) => field === 'name' || field === '-name')
  return { document, request: keepsPlan ? null : parseMxedgeUpgrade(document) }
}

/** @throws AppError invalid naming a service that has no package. */
function entriesOf<T>(field: string, given: Readonly<Record<string, T | undefined>> = {}): [PackageName, T][] {
  return Object.entries(given).flatMap(([name, value]): [PackageName, T][] => {
    const known = packageNames.find((each) => each === name)
    if (known === undefined) throw invalidField(`${field}.${name}`, `is none of ${packageNames.join(', ')}`)
    return value === undefined ? [] : [[known, value]]
  })
}

function listWithoutEffect(body: MxedgeUpgradeBody): string[] {
  const { strategy = 'big_bang', distro, versions, canary_phases: phases } = body
  return [
    ...(body.mxedge_ids?.length === 0 ? ['mxedge_ids is empty, so the upgrade has no edge appliances'] : []),
    ...(distro !== undefined && versions !== undefined ? ['versions have no effect with distro'] : []),
    ...(strategy !== 'canary' && phases !== undefined
      ? [`canary_phases have no effect with the strategy ${strategy}`]
      : []),
  ]
}
