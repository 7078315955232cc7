import { type Static, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../../http/filters.ts'
import { pageQuery } from '../../http/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/clock.ts'
import type { TargetState } from '../../rollout/rollout.ts'
import { buckets } from '../buckets.ts'
import { upgradeTargetFilters } from './filters.ts'
import type { UpgradeTarget, UpgradeTargetDetail } from './store.ts'

export const UpgradeTargetsQuery = Type.Object({ ...pageQuery, ...filterQuery(upgradeTargetFilters) })

/** @throws AppError invalid naming the field. */
export function parseTargetFilters(query: Static<typeof UpgradeTargetsQuery>): Conditions<typeof upgradeTargetFilters> {
  return parseFilters(upgradeTargetFilters, query)
}

const fields = {
  mac: Type.String(),
  device_id: Uuid,
  model: Type.String(),
  site_id: Uuid,
  phase: Type.Integer({ description: 'From 1; 0 for a device that was skipped when planning' }),
  status: Type.Enum(Object.keys(buckets)),
  reason: Type.Optional(Type.String()),
  from_version: Type.Optional(Type.String()),
  version: Type.String(),
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
          from_version: Type.Optional(Type.String()),
          timestamp: Timestamp,
          retried_by: Type.String(),
          retried_at: Timestamp,
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
          sent_at: Type.Optional(Timestamp),
          finished_at: Type.Optional(Timestamp),
        }),
      ),
    ),
  }),
)

const bucketOf = new Map<TargetState, string>(
  Object.entries(buckets).flatMap(([name, states]) => states.map((state) => [state, name] as const)),
)

export function presentUpgradeTarget(target: UpgradeTarget): Static<typeof UpgradeTargetReply> {
  const { mac, deviceId, model, siteId, phase, state, reason, fromVersion, targetVersion, attempt, run } = target
  return {
    mac,
    device_id: deviceId,
    model,
    site_id: siteId,
    phase,
    status: bucketOf.get(state) ?? state,
    ...(reason !== null && { reason }),
    ...(fromVersion !== null && { from_version: fromVersion }),
    version: targetVersion,
    attempts: attempt,
    run,
    timestamp: epochS(target.enteredAt),
  }
}

export function presentUpgradeTargetDetail(target: UpgradeTargetDetail): Static<typeof UpgradeTargetDetailReply> {
  return {
    ...presentUpgradeTarget(target),
    runs: target.runs.map(({ run, reason, fromVersion, endedAt, retriedBy, retriedAt }) => ({
      run,
      ...(reason !== null && { reason }),
      ...(fromVersion !== null && { from_version: fromVersion }),
      timestamp: epochS(endedAt),
      retried_by: retriedBy,
      retried_at: epochS(retriedAt),
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
  }
}
