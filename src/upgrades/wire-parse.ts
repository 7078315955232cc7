import { type MaintenanceWindow, refuseEndless } from '../orgs/windows/windows.ts'
import { type AppError, invalidField } from '../platform/errors.ts'
import type { UpgradeNote } from '../rollout/rollout.ts'
import { type Rule, parseCondition } from './plan-selection.ts'
import { parseStartTime } from './plan-start.ts'
import type { UpgradeRequest, RequestedModel, RequestedTime, RequestedVersion } from './org-upgrade.ts'
import { fieldsOf, strategies } from './strategies/index.ts'
import type { Strategies, Strategy } from './strategies/strategy.ts'
import { type OrgUpgradeBody, publishedDefaults } from './wire.ts'

/**
 * Reads the body of an upgrade request: defaults filled in, deprecated fields folded into the new
 * ones, which win. No site named means no site: the upgrade is made, and has nothing to do.
 *
 * @param registry The strategies that a request may name; `body` matches their schema, orgUpgradeBodyOf().
 * @throws AppError invalid naming a field whose value makes no sense, or that can't take effect yet.
 */
export function parseOrgUpgrade(body: OrgUpgradeBody, registry: Strategies = strategies): UpgradeRequest {
  refuseUnsupported(body, registry)
  const { strategy, phasedBy, downloadStrategy } = findStrategies(body, registry)
  refuseGates(body, phasedBy)
  for (const each of Object.values(registry)) each.check?.(body, strategy.name)
  const phasing = phasedBy.parse(body)
  const models = parseModels(body.models)
  return {
    kind: 'device',
    planId: body.plan_id ?? null,
    only: null,
    siteIds: body.all_sites === true ? 'all' : (body.site_ids ?? []),
    selection: {
      ids: null,
      type: body.device_type ?? null,
      models: emptyIsNone(models.map(({ model }) => model)),
      rules: emptyIsNone(body.rules?.map(parseRule)),
    },
    models,
    versions: parseVersions(body),
    reboots: true,
    snapshot: body.snapshot ?? false,
    strategy: strategy.name,
    strategyField: body.reboot_strategy === undefined ? 'strategy' : 'reboot_strategy',
    phasing: phasedBy === strategy ? phasing : { ...phasing, notes: [...phasing.notes, noteDownloads(phasedBy)] },
    downloadStrategy,
    start: parseDateTime('start_datetime', body.start_datetime) ?? parseEpoch('start_time', body.start_time),
    reboot: parseDateTime('reboot_datetime', body.reboot_datetime) ?? parseEpoch('reboot_at', body.reboot_at),
    windows: parseWindows(body.maintenance_windows),
    supersede: body.supersede ?? false,
    includeNew: body.include_new ?? false,
    document: body,
  }
}

/** @throws AppError invalid for a window without an end. */
export function parseWindows(windows: readonly MaintenanceWindow[] | undefined): readonly MaintenanceWindow[] | null {
  refuseEndless('maintenance_windows', windows ?? [])
  return windows ?? null
}

/** Refuses requests for what the service can't do yet. */
function refuseUnsupported(body: OrgUpgradeBody, registry: Strategies): void {
  const values: Readonly<Record<string, unknown>> = body
  const implemented = fieldsOf(registry)
  for (const [field, value] of Object.entries(publishedDefaults)) {
    const isDefault = values[field] === undefined || values[field] === value
    if (!isDefault && !Object.hasOwn(implemented, field)) throw unsupported(field)
  }
}

function unsupported(field: string): AppError {
  return invalidField(field, 'not supported yet')
}

/** A gate without effect would let devices be upgraded that somebody wanted to look at before. */
function refuseGates(
  { phase_gates: gates = [], min_success_percentage: share }: OrgUpgradeBody,
  { name, fields }: Strategy,
): void {
  if (share !== undefined && !Object.hasOwn(fields, 'min_success_percentage'))
    throw invalidField('min_success_percentage', `is given with the strategy ${name}, but only canary compares it`)
  if (gates.length > 0 && !Object.hasOwn(fields, 'phase_gates'))
    throw invalidField('phase_gates', `is given with the strategy ${name}, but only the phases of canary can wait`)
}

interface RequestedStrategies {
  /** The one of the reboots, for the record. */
  readonly strategy: Strategy
  /** The one that makes the phases. */
  readonly phasedBy: Strategy
  readonly downloadStrategy: string | null
}

/**
 * New fields win; the deprecated `strategy` fills only the new one for reboots, and downloads follow the reboots. A
 * strategy big_bang (the default of both) demands nothing, so the other one makes the phases of both.
 */
function findStrategies(body: OrgUpgradeBody, registry: Strategies): RequestedStrategies {
  const reboot = body.reboot_strategy ?? body.strategy ?? 'big_bang'
  const strategy = registry[reboot]
  const download = body.download_strategy ?? (strategy?.onlyReboots === true ? 'big_bang' : reboot)
  const ofDownloads = registry[download]
  if (strategy === undefined) throw unsupported(body.reboot_strategy === undefined ? 'strategy' : 'reboot_strategy')
  if (ofDownloads === undefined) throw unsupported('download_strategy')
  const phasedBy = reboot === 'big_bang' ? ofDownloads : strategy
  const isFree = download === 'big_bang' || download === phasedBy.name
  return { strategy, phasedBy, downloadStrategy: isFree ? null : download }
}

function noteDownloads({ name }: Strategy): UpgradeNote {
  return { reason: `The devices also reboot in the phases of the download_strategy ${name}` }
}

function parseModels(models: OrgUpgradeBody['models'] = []): RequestedModel[] {
  return models.flatMap((item, index) =>
    typeof item === 'string'
      ? [{ field: `models.${index}`, model: item }]
      : item.map((model, place) => ({ field: `models.${index}.${place}`, model })),
  )
}

function parseRule(rule: Readonly<Record<string, string>>, index: number): Rule {
  const conditions = Object.entries(rule).map(([key, value]) => {
    const condition = parseCondition(key, value)
    // Other unknown keys are let pass, but a rule without one of its conditions would select more devices.
    if (condition === null) throw invalidField(`rules.${index}.${key}`, 'is no match_name, match_model or match_role')
    return condition
  })
  if (conditions.length === 0) throw invalidField(`rules.${index}`, 'has no condition')
  return conditions
}

function parseVersions(body: OrgUpgradeBody): RequestedVersion[] {
  const { version, versions = [], force = false } = body
  if (versions.length > 0) {
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

function parseDateTime(field: string, text: string | undefined): RequestedTime | null {
  if (text === undefined) return null
  const time = parseStartTime(text)
  if (time === null) throw invalidField(field, 'must be an ISO 8601 date and time')
  return { field, time }
}

function parseEpoch(field: string, epochS: number | undefined): RequestedTime | null {
  if (epochS === undefined || epochS === 0) return null
  return { field, time: { kind: 'instant', at: new Date(epochS * 1000) } }
}

/** Clients send empty lists for "no such limit". */
function emptyIsNone<T>(list: readonly T[] | undefined): readonly T[] | null {
  return list === undefined || list.length === 0 ? null : list
}
