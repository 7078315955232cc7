import { type Static, Type } from 'typebox'
import { CODENAME, PACKAGE_VERSION, channels, packageNames } from '../../firmware/packages/package.ts'
import { unsettable } from '../../http/bodies/closed-bodies.ts'
import { readOnlyOf } from '../../http/read-only-fields.ts'
import { Timestamp, Uuid, asTheyAre, named } from '../../http/schemas.ts'
import { publishedNotes } from '../../mxedges/upgrades/notes.ts'
import {
  MAX_PHASE_TIMES,
  type MxedgePhaseTimes,
  type MxedgeUpgradeDetail,
  type MxedgeUpgradeItem,
  type MxedgeUpgradeTarget,
} from '../../mxedges/upgrades/store-records.ts'
import { MAX_RUNS, type MxedgeStep } from '../../mxedges/upgrades/upgrade.ts'
import { epochS } from '../../platform/time/clock.ts'
import { OFFLINE } from '../../rollout/rollout.ts'
import { ApprovalsReply, presentApproval } from '../changes/wire-approve.ts'
import { canary } from '../strategies/canary.ts'
import { DEFAULT_PERCENTS } from '../strategies/canary-sites.ts'
import { requestedGates } from '../strategies/gate-fields.ts'
import { fieldsOf, commonStrategies } from '../strategies/index.ts'
import { previewFields } from '../previews/wire.ts'
import { MaintenanceWindows } from '../../orgs/windows/wire.ts'
import {
  EpochS,
  awaitedField,
  offlineField,
  presentAwaited,
  presentOffline,
  presentState,
  stateFields,
  waitField,
} from '../wire.ts'
import { gateFields, presentGates } from './wire-gates.ts'
import { endField, endsField, nameField, presentName, supersedeField, windowFields } from '../wire-extensions.ts'
import { keysOf, recordOf } from '../../platform/records.ts'

const { canary_phases, max_failures, max_failure_percentage, phase_gates } = fieldsOf(commonStrategies)

const Version = Type.String({
  pattern: PACKAGE_VERSION,
  description: '`current`, `latest`, `default`, or a version',
})

const Versions = Type.Object(recordOf(packageNames, () => Type.Optional(Version)))
const Downgrades = Type.Object(recordOf(packageNames, () => Type.Optional(Type.Boolean({ default: false }))))

/** Appliances of one upgrade. */
const MAX_APPLIANCES = 10_000

/** Source: spec, "Edge appliance upgrade request"; the name `distro` is the contract's. */
const fields = {
  ...nameField,
  mxedge_ids: Type.Optional(
    Type.Array(Uuid, { maxItems: MAX_APPLIANCES, description: 'missing: all edge appliances' }),
  ),
  strategy: Type.Optional(Type.Enum(Object.keys(commonStrategies).toSorted(), { default: 'big_bang' })),
  channel: Type.Optional(Type.Enum([...channels], { default: 'stable' })),
  versions: Type.Optional(Versions),
  allow_downgrades: Type.Optional(Downgrades),
  distro: Type.Optional(
    Type.String({
      pattern: CODENAME,
      description: 'codename of a distribution, or `next`; `versions` have no effect then',
    }),
  ),
  canary_phases,
  max_failures,
  max_failure_percentage,
  phase_gates,
  start_time: Type.Optional(EpochS),
  ...windowFields,
  ...endField,
  ...supersedeField,
  include_new: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'true: edge appliances that join later, or need the versions only later, are taken in until it ends',
    }),
  ),
}

export const MxedgeUpgradeBody = named('MxedgeUpgradeCreate', Type.Object({ ...fields, ...previewFields }))
export type MxedgeUpgradeBody = Static<typeof MxedgeUpgradeBody>

export const MxedgeUpgradeUpdateBody = named(
  'MxedgeUpgradeUpdate',
  Type.Object({ ...fields, ...asTheyAre(readOnlyOf('MxedgeUpgrade')) }, unsettable(Object.keys(fields))),
)

/** `skipped` and `cancelled` are ours: without them the counts would not add up to the total. */
const Counts = named(
  'MxedgeUpgradeCounts',
  Type.Object({
    queued: Type.Integer(),
    upgrading: Type.Integer(),
    success: Type.Integer(),
    failed: Type.Integer(),
    skipped: Type.Integer(),
    cancelled: Type.Integer(),
    total: Type.Integer(),
  }),
)

const itemFields = {
  id: Uuid,
  org_id: Uuid,
  site_id: Type.Optional(Uuid),
  ...nameField,
  status: Type.Enum(['queued', 'upgrading', 'completed', 'failed', 'cancelled']),
  strategy: Type.String(),
  channel: Type.String(),
  versions: Type.Record(Type.String(), Type.String()),
  allow_downgrades: Type.Record(Type.String(), Type.Boolean()),
  distro: Type.Optional(Type.String()),
  canary_phases: Type.Optional(Type.Array(Type.Integer())),
  max_failures: Type.Optional(Type.Array(Type.Integer())),
  max_failure_percentage: Type.Optional(Type.Integer()),
  phase_gates: requestedGates,
  start_time: Type.Integer(),
  ...endsField,
  supersede: Type.Optional(Type.Boolean()),
  include_new: Type.Optional(Type.Boolean()),
  maintenance_windows: Type.Optional(MaintenanceWindows),
  phase: Type.Integer({ description: 'the phase that is open, from 1' }),
  phase_sizes: Type.Array(Type.Integer(), { description: 'appliances by phase' }),
  counts: Counts,
  ...offlineField('appliances'),
  ...stateFields,
  ...waitField,
  created_time: Timestamp,
  finished_time: Type.Optional(Timestamp),
}

export const MxedgeUpgradeItemReply = named('MxedgeUpgradeItem', Type.Object(itemFields))

export const MxedgeUpgradeReply = named(
  'MxedgeUpgrade',
  Type.Object({
    ...itemFields,
    ...awaitedField('appliances'),
    approvals: Type.Optional(ApprovalsReply),
    ...gateFields,
    notes: Type.Array(
      named(
        'MxedgeUpgradeNote',
        Type.Object({
          mxedge_id: Type.Optional(Uuid),
          name: Type.Optional(Type.String({ description: 'that of an appliance which could not join' })),
          reason: Type.String(),
        }),
      ),
      {
        description:
          'appliances and services that were left out, appliances that changed places, and options without effect',
      },
    ),
    phase_times: Type.Array(
      Type.Object({
        phase: Type.Integer(),
        begun_time: Type.Number({ description: 'epoch seconds: its first command was queued' }),
        ended_time: Type.Optional(
          Type.Number({
            description: 'epoch seconds: its last command ended, and no appliance of it is left to upgrade',
          }),
        ),
      }),
      { description: `phases that have begun, the last ${MAX_PHASE_TIMES}, as long as their commands are stored` },
    ),
  }),
)

export const StepReply = Type.Object({
  service: Type.Optional(Type.String()),
  distro: Type.Optional(Type.Boolean({ description: 'true for an upgrade of the distribution' })),
  from_version: Type.Optional(Type.String()),
  to_version: Type.String(),
  done: Type.Boolean(),
})

export const MxedgeUpgradeTargetReply = named(
  'MxedgeUpgradeTarget',
  Type.Object({
    mxedge_id: Uuid,
    name: Type.String(),
    site_id: Type.Optional({ ...Uuid, description: 'where it was when it was planned; missing: in no site' }),
    status: Type.Enum(
      ['queued', 'downloading', 'downloaded', 'upgrading', 'success', 'failed', 'skipped', 'cancelled'],
      {
        description:
          '`downloading` and `downloaded`, which count as `upgrading`: the appliance still runs what it ran before',
      },
    ),
    phase: Type.Optional(Type.Integer()),
    reason: Type.Optional(
      Type.String({
        description:
          'why it failed, was skipped or cancelled, or is tried again, a code or the words of the appliance; `offline` of one that is `queued`: the upgrade waits for it',
      }),
    ),
    attempts: Type.Integer(),
    steps: Type.Array(StepReply),
    runs: Type.Optional(
      Type.Array(Type.Object({ reason: Type.String(), retried_at: Timestamp, retried_by: Type.String() }), {
        description: `how it failed before each retry; the last ${MAX_RUNS}`,
      }),
    ),
  }),
)

type TargetStatus = Static<typeof MxedgeUpgradeTargetReply>['status']

/** The contract's words for the states of targets. */
const statusOf: Readonly<Record<MxedgeUpgradeTarget['state'], TargetStatus>> = {
  planned: 'queued',
  deferred: 'queued',
  downloading: 'downloading',
  downloaded: 'downloaded',
  commanded: 'upgrading',
  unconfirmed: 'upgrading',
  verifying: 'upgrading',
  upgraded: 'success',
  failed: 'failed',
  skipped: 'skipped',
  cancelled: 'cancelled',
}

export function presentMxedgeUpgradeItem(upgrade: MxedgeUpgradeItem): Static<typeof MxedgeUpgradeItemReply> {
  const { orgId, id, siteId, status, stopping, plan, currentPhase, startAt, createdAt, finishedAt } = upgrade
  const request = upgrade.request as MxedgeUpgradeBody
  const { distro, canary_phases: phases, max_failures: failures } = request
  const limit = request.max_failure_percentage ?? plan.max_failure_percentage ?? undefined
  const isCanary = plan.strategy === canary.name
  return {
    id,
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    ...presentName(request.name ?? null),
    status,
    strategy: plan.strategy,
    channel: request.channel ?? 'stable',
    versions: recordOf(packageNames, (name) => request.versions?.[name] ?? 'current'),
    allow_downgrades: recordOf(packageNames, (name) => request.allow_downgrades?.[name] ?? false),
    ...(distro !== undefined && { distro }),
    ...((phases !== undefined || isCanary) && { canary_phases: [...(phases ?? DEFAULT_PERCENTS)] }),
    ...(failures !== undefined && { max_failures: failures }),
    ...(limit !== undefined && { max_failure_percentage: limit }),
    ...(request.phase_gates !== undefined && { phase_gates: request.phase_gates }),
    start_time: Math.floor(epochS(startAt)),
    ...(plan.ends_s !== undefined && { end_time: plan.ends_s }),
    ...(request.supersede !== undefined && { supersede: request.supersede }),
    ...(request.include_new !== undefined && { include_new: request.include_new }),
    ...(request.maintenance_windows !== undefined && { maintenance_windows: request.maintenance_windows }),
    phase: currentPhase,
    phase_sizes: [...plan.phase_sizes],
    counts: presentCounts(upgrade),
    ...presentOffline(upgrade.counts.deferred),
    // While failed appliances are retried, the row keeps the reason for which the others were cancelled.
    ...presentState({
      ...upgrade,
      stopReason: stopping === null && status !== 'cancelled' ? null : upgrade.stopReason,
    }),
    created_time: epochS(createdAt),
    ...(finishedAt !== null && { finished_time: epochS(finishedAt) }),
  }
}

function presentCounts({ counts }: MxedgeUpgradeItem): Static<typeof Counts> {
  const presented = { queued: 0, upgrading: 0, success: 0, failed: 0, skipped: 0, cancelled: 0, total: 0 }
  for (const state of keysOf(counts)) {
    presented[countedAs(statusOf[state])] += counts[state]
    presented.total += counts[state]
  }
  return presented
}

/** The contract's counts have no downloads. */
function countedAs(status: TargetStatus): Exclude<TargetStatus, 'downloading' | 'downloaded'> {
  return status === 'downloading' || status === 'downloaded' ? 'upgrading' : status
}

export function presentMxedgeUpgrade(
  upgrade: MxedgeUpgradeDetail,
  times: readonly MxedgePhaseTimes[],
): Static<typeof MxedgeUpgradeReply> {
  return {
    ...presentMxedgeUpgradeItem(upgrade),
    ...presentAwaited(upgrade.awaited),
    ...(upgrade.approvals.length > 0 && { approvals: upgrade.approvals.map(presentApproval) }),
    ...presentGates(upgrade),
    notes: publishedNotes(upgrade.notes),
    phase_times: times.map(({ phase, begunAt, endedAt }) => {
      return { phase, begun_time: epochS(begunAt), ...(endedAt !== null && { ended_time: epochS(endedAt) }) }
    }),
  }
}

export function presentMxedgeUpgradeTarget(target: MxedgeUpgradeTarget): Static<typeof MxedgeUpgradeTargetReply> {
  const { mxedgeId, name, plannedSiteId: siteId, state, phase, attempt, steps, step: present, runs } = target
  // The cause of its last attempt is not what it waits for.
  const reason = state === 'deferred' ? OFFLINE : target.reason
  return {
    mxedge_id: mxedgeId,
    name,
    ...(siteId !== null && { site_id: siteId }),
    status: statusOf[state],
    ...(phase > 0 && { phase }),
    ...(reason !== null && { reason }),
    attempts: attempt,
    steps: steps.map((step, index) => presentStep(step, state === 'upgraded' || index < present)),
    ...(runs.length > 0 && { runs: [...runs] }),
  }
}

export function presentStep(step: MxedgeStep, done: boolean): Static<typeof StepReply> {
  return {
    ...('distro' in step ? { distro: true } : { service: step.service }),
    ...(step.from !== null && { from_version: step.from }),
    to_version: step.to,
    done,
  }
}
