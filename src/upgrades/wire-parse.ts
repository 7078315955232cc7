import { type AppError, invalidField } from '../platform/errors.ts'
import { type Rule, parseCondition } from './plan-selection.ts'
import { parseStartTime } from './plan-start.ts'
import type { RolloutStrategy, UpgradeNote } from '../rollout/rollout.ts'
import type { OrgUpgradeRequest, RequestedModel, RequestedTime, RequestedVersion } from './org-upgrade.ts'
import type { OrgUpgradeBody, OrgUpgradeQuery } from './wire.ts'

const DEFAULT_CANARY_PERCENTS = [1, 10, 50, 100]
const DEFAULT_MAX_FAILURE_PERCENTAGE = 5

/**
 * Reads the body of an upgrade request: defaults filled in, deprecated fields folded into the new
 * ones, which win. No site named means no site: the upgrade is made, and has nothing to do.
 *
 * @throws AppError invalid naming a field whose value makes no sense, or that can't take effect yet.
 */
export function parseOrgUpgrade(body: OrgUpgradeBody, query: OrgUpgradeQuery = {}): OrgUpgradeRequest {
  refuseUnsupported(body, query)
  const strategy = parseStrategy(body)
  const canaryPercents = parseCanaryPhases(body.canary_phases)
  const models = parseModels(body.models)
  const maxFailures = parseMaxFailures(body.max_failures, strategy, canaryPercents.length)
  const { max_failure_percentage: maxFailurePercentage = DEFAULT_MAX_FAILURE_PERCENTAGE } = body
  return {
    siteIds: body.all_sites === true ? 'all' : (body.site_ids ?? []),
    selection: {
      type: body.device_type ?? null,
      models: emptyIsNone(models.map(({ model }) => model)),
      rules: emptyIsNone(body.rules?.map(parseRule)),
    },
    models,
    versions: parseVersions(body),
    strategy,
    phaseScope: strategy === 'canary' ? (body.phase_scope ?? 'org') : 'site',
    canaryPercents,
    maxFailures,
    maxFailurePercentage: strategy === 'big_bang' ? null : maxFailurePercentage,
    start: parseDateTime('start_datetime', body.start_datetime) ?? parseEpoch('start_time', body.start_time),
    reboot: parseDateTime('reboot_datetime', body.reboot_datetime) ?? parseEpoch('reboot_at', body.reboot_at),
    notes: noteIgnored(body, strategy),
    document: body,
  }
}

/** Values other than the defaults, of what the service can't do yet. */
function refuseUnsupported(body: OrgUpgradeBody, query: OrgUpgradeQuery): void {
  if (body.dry_run === true || query.dry_run === true)
    throw unsupported('dry_run', 'it is true, only false is allowed, and nothing was started')
  if (body.enable_p2p === true) throw unsupported('enable_p2p')
  if (body.snapshot === true) throw unsupported('snapshot')
  for (const field of ['reboot_strategy', 'strategy'] as const) if (body[field] === 'rrm') throw unsupported(field)
  if (body.rrm_slow_ramp === true) throw unsupported('rrm_slow_ramp')
  if ((body.rrm_first_batch_percentage ?? 2) !== 2) throw unsupported('rrm_first_batch_percentage')
  if ((body.rrm_max_batch_percentage ?? 10) !== 10) throw unsupported('rrm_max_batch_percentage')
  if ((body.rrm_mesh_upgrade ?? 'sequential') !== 'sequential') throw unsupported('rrm_mesh_upgrade')
  if ((body.rrm_node_order ?? 'fringe_to_center') !== 'fringe_to_center') throw unsupported('rrm_node_order')
}

function unsupported(field: string, why = ''): AppError {
  return invalidField(field, `not supported yet${why && `: ${why}`}`)
}

/**
 * Download and reboot are one step for the devices that can be upgraded now, so one strategy rules
 * both. Downloads that may run ahead of the reboots (big_bang, the default) demand nothing of that step.
 */
function parseStrategy(body: OrgUpgradeBody): RolloutStrategy {
  const download = body.download_strategy ?? body.strategy
  const reboot = body.reboot_strategy ?? body.strategy ?? download ?? 'big_bang'
  if (!isRolloutStrategy(reboot)) throw unsupported('reboot_strategy')
  if (download === undefined || download === reboot || download === 'big_bang') return reboot
  throw unsupported(
    'download_strategy',
    'the devices download and reboot in one step, so it must equal reboot_strategy',
  )
}

function isRolloutStrategy(name: string): name is RolloutStrategy {
  return name === 'big_bang' || name === 'canary' || name === 'serial'
}

function parseCanaryPhases(percents: readonly number[] = DEFAULT_CANARY_PERCENTS): readonly number[] {
  if (percents.some((percent, index) => index > 0 && percent <= (percents[index - 1] ?? 0)))
    throw invalidField('canary_phases', 'must rise from phase to phase: they are cumulative percentages')
  return percents.at(-1) === 100 ? percents : [...percents, 100]
}

function parseMaxFailures(
  limits: readonly number[] | undefined,
  strategy: RolloutStrategy,
  phases: number,
): readonly number[] | null {
  if (limits === undefined || limits.length === 0 || strategy === 'serial') return null
  if (strategy === 'big_bang')
    throw invalidField('max_failures', 'is given with the strategy big_bang, but only canary has phases to limit')
  if (limits.length !== phases)
    throw invalidField('max_failures', `must have one number for each of the ${phases} phases`)
  return limits
}

/** Published clients send limits with every strategy; where they endanger nobody they are accepted. */
function noteIgnored({ max_failures: limits = [] }: OrgUpgradeBody, strategy: RolloutStrategy): UpgradeNote[] {
  if (strategy !== 'serial' || limits.length === 0) return []
  return [{ reason: 'max_failures has no effect with the strategy serial; max_failure_percentage applies' }]
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
