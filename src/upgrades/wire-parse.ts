import { isDeepStrictEqual } from 'node:util'
import { type MaintenanceWindow, refuseEndless } from '../orgs/windows/windows.ts'
import { type AppError, invalidField } from '../platform/errors.ts'
import { DEFAULT_CLUSTER_SIZE } from './planning/plan-p2p.ts'
import { parseRule } from './parse-rule.ts'
import { MAX_YEAR, parseStartTime } from './planning/plan-start.ts'
import type { RequestedModel, RequestedTime, RequestedVersion, UpgradeRequest } from './org-upgrade.ts'
import { DEFAULT_PERCENTS } from './strategies/canary-sites.ts'
import { type PhaseKind, parseStartGate, refuseUngated } from './strategies/gate-fields.ts'
import { START_PHASE } from '../rollout/rollout.ts'
import { strategies } from './strategies/index.ts'
import type { Phasing, Strategies, Strategy } from './strategies/strategy.ts'
import type { OrgUpgradeBody } from './wire.ts'

/**
 * Parses the body of an upgrade request: defaults filled in, deprecated fields folded into the new ones, which win. A
 * request that names no site selects none: the upgrade is created, with nothing to do.
 *
 * @param registry The strategies that a request may name; `body` matches their schema, orgUpgradeBodyOf().
 * @throws AppError invalid naming a field with an inconsistent value, or one that can't take effect yet.
 */
export function parseOrgUpgrade(body: OrgUpgradeBody, registry: Strategies = strategies): UpgradeRequest {
  const { reboots: strategy, downloads } = findStrategies(body, registry)
  refuseShare(body, strategy.name === 'big_bang' ? downloads : strategy)
  const gates = parsePhaseGates(body, { reboots: strategy, downloads })
  for (const each of Object.values(registry)) {
    const isChosen = each === strategy || each === downloads
    each.check?.(body, isChosen ? each.name : strategy.name)
  }
  refuseCanaryFields(body, { reboots: strategy, downloads })
  const models = parseModels(body.models)
  const selection = {
    ids: null,
    type: body.device_type ?? null,
    models: emptyIsNone(models.map(({ model }) => model)),
    rules: emptyIsNone(body.rules?.map((rule, index) => parseRule(rule, `rules.${index}`))),
  }
  return {
    kind: 'device',
    isAutomatic: false,
    only: null,
    reboots: true,
    planId: body.plan_id ?? null,
    siteIds: body.all_sites === true ? 'all' : (body.site_ids ?? []),
    selection,
    models,
    versions: parseVersions(body),
    snapshot: body.snapshot ?? false,
    rollback: body.rollback_on_failure ?? false,
    health: body.check_health ?? false,
    strategy: strategy.name,
    strategyField: body.reboot_strategy === undefined ? 'strategy' : 'reboot_strategy',
    startGate: parseStartGate(body.phase_gates),
    phasing: parsePhasing(strategy, downloads, { ...body, ...gates }, 'reboots'),
    downloads: {
      strategy: downloads.name,
      isNamed: body.download_strategy !== undefined,
      hasGates: gates.phase_gates.some(({ phase, phase_of: of }) => phase !== START_PHASE && of === 'downloads'),
      phasing: parsePhasing(downloads, strategy, { ...body, ...gates }, 'downloads'),
    },
    p2p: {
      isEnabled: body.enable_p2p ?? false,
      clusterSize: body.p2p_cluster_size ?? DEFAULT_CLUSTER_SIZE,
      parallelism: body.p2p_parallelism ?? null,
    },
    start: parseDateTime('start_datetime', body.start_datetime) ?? parseEpoch('start_time', body.start_time),
    reboot: parseDateTime('reboot_datetime', body.reboot_datetime) ?? parseEpoch('reboot_at', body.reboot_at),
    notBefore: parseInstants(gates.phase_gates),
    endsAt: parseEnd(body.end_time),
    windows: parseWindows(body.maintenance_windows),
    supersede: body.supersede ?? false,
    includeNew: body.include_new === true ? selection : null,
    document: body,
  }
}

/** @throws AppError invalid for a window without an end. */
export function parseWindows(windows: readonly MaintenanceWindow[] | undefined): readonly MaintenanceWindow[] | null {
  refuseEndless('maintenance_windows', windows ?? [])
  return windows ?? null
}

/** Null: it has no end. */
export function parseEnd(epochS = 0): Date | null {
  return epochS === 0 ? null : new Date(epochS * 1000)
}

function unsupported(field: string): AppError {
  return invalidField(field, 'not supported yet')
}

function refuseShare({ min_success_percentage: share }: OrgUpgradeBody, { name, fields }: Strategy): void {
  if (share !== undefined && !Object.hasOwn(fields, 'min_success_percentage'))
    throw invalidField('min_success_percentage', `is given with the strategy ${name}, which has no phases`)
}

/** Some clients send the default of each field, whatever the strategy. */
function refuseCanaryFields(
  { canary_phases = DEFAULT_PERCENTS, phase_scope = 'org' }: OrgUpgradeBody,
  { reboots, downloads }: RequestedStrategies,
): void {
  if ([reboots, downloads].some(({ fields }) => Object.hasOwn(fields, 'canary_phases'))) return
  const reason = `is for the strategy canary only, and the strategy is ${reboots.name}`
  if (!isDeepStrictEqual(canary_phases, DEFAULT_PERCENTS)) throw invalidField('canary_phases', reason)
  if (phase_scope !== 'org') throw invalidField('phase_scope', reason)
}

/**
 * Returns the gates, each with the kind of its phase.
 * @throws AppError invalid for gates of phases that can't wait: a gate without effect would upgrade devices before the
 *   person has examined the earlier ones.
 */
function parsePhaseGates({ phase_gates: gates = [] }: OrgUpgradeBody, { reboots, downloads }: RequestedStrategies) {
  const usual = reboots.name === 'big_bang' ? ('downloads' as const) : ('reboots' as const)
  const parsed = gates.map((gate) => ({ ...gate, phase_of: gate.phase_of ?? usual }))
  for (const { phase, phase_of: of } of parsed) {
    if (phase === START_PHASE) continue
    refuseUngated(of === 'downloads' ? downloads : reboots)
  }
  return { phase_gates: parsed }
}

interface RequestedStrategies {
  readonly reboots: Strategy
  readonly downloads: Strategy
}

/** New fields win. The deprecated `strategy` sets both. Source: spec, "Organization device upgrade request". */
function findStrategies(body: OrgUpgradeBody, registry: Strategies): RequestedStrategies {
  const reboot = body.reboot_strategy ?? body.strategy ?? 'big_bang'
  const reboots = registry[reboot]
  const isBoth = body.reboot_strategy === undefined && reboots?.onlyReboots !== true
  const downloads = registry[body.download_strategy ?? (isBoth ? reboot : 'big_bang')]
  if (reboots === undefined) throw unsupported(body.reboot_strategy === undefined ? 'strategy' : 'reboot_strategy')
  if (downloads === undefined) throw unsupported('download_strategy')
  return { reboots, downloads }
}

/** Limits are those of the other strategy where this one has none. */
function parsePhasing(strategy: Strategy, other: Strategy, body: OrgUpgradeBody, of: PhaseKind): Phasing {
  const isOther = strategy.name === 'big_bang' && other.name !== 'big_bang'
  const { max_failures: _failures, max_failure_percentage: _percentage, ...unlimited } = body
  return strategy.parse(isOther ? unlimited : body, of)
}

function parseModels(models: OrgUpgradeBody['models'] = []): RequestedModel[] {
  return models.flatMap((item, index) =>
    typeof item === 'string'
      ? [{ field: `models.${index}`, model: item }]
      : item.map((model, place) => ({ field: `models.${index}.${place}`, model })),
  )
}

function parseVersions(body: OrgUpgradeBody): RequestedVersion[] {
  const { version, versions = [], force = false } = body
  if (versions.length > 0) {
    refuseUnreached(versions)
    return versions.map((item, index) => {
      const field = `versions.${index}`
      if (typeof item === 'string')
        return { field, firmwareType: null, version: item, modelVersion: new Map(), force, isAlternative: true }
      if (item.version === undefined && item.model_version === undefined)
        throw invalidField(field, 'needs a version or a model_version')
      return {
        field,
        firmwareType: item.firmware_type ?? null,
        version: item.version ?? null,
        modelVersion: new Map(Object.entries(item.model_version ?? {})),
        force: item.force ?? force,
      }
    })
  }
  const field = version === undefined ? null : 'version'
  return [{ field, firmwareType: null, version: version ?? 'latest', modelVersion: new Map(), force }]
}

type VersionItem = NonNullable<OrgUpgradeBody['versions']>[number]

/**
 * A device gets its version by the first item for its type, so an item after one for all devices of its types has no effect.
 * @throws AppError invalid naming the item.
 */
function refuseUnreached(versions: readonly VersionItem[]): void {
  const taken = new Set<'ap' | 'junos'>()
  for (const [index, item] of versions.entries()) {
    const type = typeof item === 'string' ? undefined : item.firmware_type
    const types = type === undefined ? (['ap', 'junos'] as const) : [type]
    if (types.every((each) => taken.has(each)))
      throw invalidField(
        `versions.${index}`,
        'has no effect, because items before it have a version for each of its devices',
      )
    if (typeof item !== 'string' && item.version !== undefined) for (const each of types) taken.add(each)
  }
}

function parseDateTime(field: string, text: string | undefined): RequestedTime | null {
  if (text === undefined) return null
  const time = parseStartTime(text)
  if (time === null)
    throw invalidField(field, `is ${text}, but must be an ISO 8601 date and time before the year ${MAX_YEAR + 1}`)
  return { field, time }
}

/** Parses the instants of gates, for comparisons with other times. */
export function parseInstants(gates: OrgUpgradeBody['phase_gates'] = []): RequestedTime[] {
  return gates.flatMap(
    ({ not_before: notBefore }, index) => parseEpoch(`phase_gates.${index}.not_before`, notBefore) ?? [],
  )
}

function parseEpoch(field: string, epochS: number | undefined): RequestedTime | null {
  if (epochS === undefined || epochS === 0) return null
  return { field, time: { kind: 'instant', at: new Date(epochS * 1000) } }
}

/** Clients send empty lists for "no such limit". */
function emptyIsNone<T>(list: readonly T[] | undefined): readonly T[] | null {
  return list === undefined || list.length === 0 ? null : list
}
