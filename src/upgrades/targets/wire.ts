import { type Static, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { pageQuery } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { DeviceHealth } from '../../rollout/targets/target.ts'
import { finalVersionOf } from '../../rollout/targets/hops/hops.ts'
import type { UpgradeHop } from '../../rollout/rollout.ts'
import { bucketOf, buckets } from '../buckets.ts'
import { siteTargetFilters, upgradeTargetFilters } from './filters.ts'
import type { UpgradeTarget, UpgradeTargetDetail } from './store.ts'
import { mergeTimeline } from './timeline.ts'

export const UpgradeTargetsQuery = Type.Object({ ...pageQuery, ...filterQuery(upgradeTargetFilters) })
export const SiteTargetsQuery = Type.Object({ ...pageQuery, ...filterQuery(siteTargetFilters) })

/** @throws AppError invalid naming the field. */
export function parseTargetFilters(query: Static<typeof UpgradeTargetsQuery>): Conditions<typeof upgradeTargetFilters> {
  return parseFilters(upgradeTargetFilters, query)
}

const outageFields = {
  down_at: Type.Optional(Type.Number({ description: 'When the reboot took the device down' })),
  up_at: Type.Optional(Type.Number({ description: 'When it was back; missing: it has not come back' })),
}

const UpgradeTargetHop = named(
  'UpgradeTargetHop',
  Type.Object({
    version: Type.String(),
    done_at: Type.Optional(Type.Number({ description: 'When it was installed; missing: it is still to be' })),
    ...outageFields,
  }),
)

export const RestoreReason = Type.String({
  description: 'Why the device returned, or was to return, to its backup version',
})

/** A failed device stays `reboot_in_progress` until its restore has ended. */
export const Restoring = Type.Boolean({
  description:
    'true: the device returns to its backup version because of `reason`, or has returned and must stay connected for a while',
})

const fields = {
  mac: Type.String(),
  name: Type.Optional(Type.String({ description: 'Its present name, if it has one' })),
  device_id: Uuid,
  model: Type.String(),
  site_id: Uuid,
  phase: Type.Integer({
    description: 'From 1; 0 for a device that was skipped when planning, taken over by another upgrade or excluded',
  }),
  download_phase: Type.Optional(Type.Integer({ description: 'From 1, if the downloads have separate phases' })),
  status: Type.Enum(Object.keys(buckets)),
  reason: Type.Optional(
    Type.String({
      description:
        'Why it failed, was cancelled, waits, is tried again, or has no recovery snapshot: a code, or the words of the device; `offline` of one that is `scheduled`: the upgrade waits for it',
    }),
  ),
  restoring: Type.Optional(Restoring),
  restore_reason: Type.Optional(RestoreReason),
  from_version: Type.Optional(Type.String()),
  version: Type.String(),
  path: Type.Optional(
    Type.Array(UpgradeTargetHop, {
      description: 'The versions that it installs in turn, if it reboots more than once',
    }),
  ),
  attempts: Type.Integer({ description: 'How many commands the upgrade gave the device' }),
  run: Type.Integer({ description: 'From 1; each retry begins another one' }),
  timestamp: Timestamp,
}

export const UpgradeTargetReply = named('UpgradeTarget', Type.Object(fields))

export const UpgradeTargetDetailReply = named(
  'UpgradeTargetDetail',
  Type.Object({
    ...fields,
    runs: Type.Array(
      named(
        'UpgradeTargetRun',
        Type.Object({
          run: Type.Integer(),
          reason: Type.Optional(Type.String()),
          restore_reason: Type.Optional(RestoreReason),
          from_version: Type.Optional(Type.String()),
          timestamp: Timestamp,
          retried_by: Type.String({ description: 'The person who retried the device' }),
          retried_at: Type.Number({ description: 'When the device was retried' }),
          ...outageFields,
        }),
      ),
      { description: 'The runs that failed and were retried' },
    ),
    commands: Type.Array(
      named(
        'UpgradeTargetCommand',
        Type.Object({
          id: Uuid,
          command: Type.String(),
          attempt: Type.Integer(),
          status: Type.String(),
          reason: Type.Optional(Type.String()),
          timestamp: Timestamp,
          sent_at: Type.Optional(Type.Number({ description: 'Missing: it was not sent' })),
          finished_at: Type.Optional(Type.Number({ description: 'Missing: it waits or runs' })),
        }),
      ),
    ),
    ...outageFields,
    baseline: Type.Optional(
      named(
        'UpgradeTargetHealth',
        Type.Object({
          uplinks: Type.Array(Type.String(), { description: 'Uplink ports that are up' }),
          neighbors: Type.Array(Type.String(), { description: 'Switches and routers that it hears by LLDP' }),
          radios: Type.Array(Type.String(), { description: 'The bands of its radios' }),
          clients: Type.Optional(Type.Integer({ description: 'Wireless clients' })),
        }),
      ),
    ),
    timeline: Type.Array(
      named(
        'UpgradeTargetStep',
        Type.Object({
          timestamp: Timestamp,
          kind: Type.Enum(['state', 'command', 'event']),
          what: Type.String({ description: 'A status, a command and its state, or the type of a device event' }),
          cause: Type.String({ description: 'Empty where nothing is known of it' }),
        }),
      ),
      { description: 'The history of the target, its commands and the device, by time' },
    ),
  }),
)

export function presentUpgradeTarget(target: UpgradeTarget): Static<typeof UpgradeTargetReply> {
  const { mac, name, deviceId, model, siteId, phase, state, reason, restoreReason, fromVersion } = target
  const { path, attempt, run } = target
  return {
    mac,
    ...(name !== null && { name }),
    device_id: deviceId,
    model,
    site_id: siteId,
    phase,
    ...(target.downloadPhase !== null && { download_phase: target.downloadPhase }),
    status: bucketOf(state),
    ...(reason !== null && { reason }),
    ...(state === 'rolling_back' && { restoring: true }),
    ...(restoreReason !== null && { restore_reason: restoreReason }),
    ...(fromVersion !== null && { from_version: fromVersion }),
    version: finalVersionOf(target),
    ...(path !== null && { path: path.map(presentHop) }),
    attempts: attempt,
    run,
    timestamp: epochS(target.enteredAt),
  }
}

function presentHop({ version, ...times }: UpgradeHop): Static<typeof UpgradeTargetHop> {
  const { done_ms: doneMs, down_ms: downMs, up_ms: upMs } = times
  return {
    version,
    ...(doneMs !== undefined && { done_at: doneMs / 1000 }),
    ...(downMs !== undefined && { down_at: downMs / 1000 }),
    ...(upMs !== undefined && { up_at: upMs / 1000 }),
  }
}

function presentHealth({ uplinks, neighbors, radios, clients }: DeviceHealth) {
  return {
    uplinks: [...uplinks],
    neighbors: [...neighbors],
    radios: [...radios],
    ...(clients !== null && { clients }),
  }
}

function presentOutage({ downAt, upAt }: Pick<UpgradeTargetDetail, 'downAt' | 'upAt'>) {
  return {
    ...(downAt !== null && { down_at: epochS(downAt) }),
    ...(upAt !== null && { up_at: epochS(upAt) }),
  }
}

export function presentUpgradeTargetDetail(target: UpgradeTargetDetail): Static<typeof UpgradeTargetDetailReply> {
  return {
    ...presentUpgradeTarget(target),
    runs: target.runs.map(({ run, reason, restoreReason, fromVersion, endedAt, retriedBy, retriedAt, ...outage }) => ({
      run,
      ...(reason !== null && { reason }),
      ...(restoreReason !== null && { restore_reason: restoreReason }),
      ...(fromVersion !== null && { from_version: fromVersion }),
      timestamp: epochS(endedAt),
      retried_by: retriedBy,
      retried_at: epochS(retriedAt),
      ...presentOutage(outage),
    })),
    commands: target.commands.map(({ id, kind, attempt, state, reason, createdAt, sentAt, finishedAt }) => ({
      id,
      command: kind,
      attempt,
      status: state,
      ...(reason !== null && { reason }),
      timestamp: epochS(createdAt),
      ...(sentAt !== null && { sent_at: epochS(sentAt) }),
      ...(finishedAt !== null && { finished_at: epochS(finishedAt) }),
    })),
    ...presentOutage(target),
    ...(target.baseline !== null && { baseline: presentHealth(target.baseline) }),
    timeline: mergeTimeline(target).map(({ at, kind, what, cause }) => ({
      timestamp: epochS(at),
      kind,
      what,
      cause,
    })),
  }
}
