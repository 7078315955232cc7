import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { roundColumns } from '../../rollout/rounds/store.ts'
import { linkOf } from '../../rollout/targets/target.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Reader, type Tx, anyOf, noneOf } from '../../platform/database/db.ts'
import { columnsOf, rowsAs, updateRows } from '../../platform/database/rows.ts'
import type { MxedgeService } from '../sessions/facts.ts'
import type { MxedgeUpgradeChange, MxedgeUpgradeNow } from './decide-upgrade.ts'
import type { MxedgeTargetNow, StepCommand, TargetChange } from './target.ts'
import { inFlightStates, terminalStates } from './upgrade.ts'

/**
 * Matches upgrades that have begun or are due to begin, and those that were stopped earlier. Those whose start lacks an approval wait
 * for it before, also after a pause by a person or once their first appliances have joined: until the start all approvals are of it.
 */
const isRunning = (now: Date) => sql<boolean>`finished_at is null
  and (phase_opened_ms is not null or start_at <= ${now} or stopping is not null
    or hold is null and plan ? 'start_gate'
      and jsonb_array_length(approvals) < coalesce((plan->'start_gate'->>'approvals')::integer, 1))`

/** Lists the organizations in which an upgrade of edge appliances runs, or is to begin. */
export async function listOrgsWithUpgrades(reader: Reader, now: Date): Promise<string[]> {
  const rows = await reader
    .selectFrom('mxedgeUpgrade')
    .select('orgId')
    .distinct()
    .where(isRunning(now))
    .orderBy('orgId')
    .execute()
  return rows.map(({ orgId }) => orgId)
}

/** An upgrade that this worker may advance until its transaction ends. */
export interface LockedUpgrade extends Omit<MxedgeUpgradeNow, 'targets'> {
  readonly id: string
  readonly siteId: string | null
  readonly waitsUntil: Date | null
}

/** Locks the running upgrades of an organization in the order of their ids. A person's change waits until `tx` ends. */
export function lockRunningUpgrades(tx: Tx, scope: InOrg, now: Date): Promise<LockedUpgrade[]> {
  return tx
    .selectFrom('mxedgeUpgrade')
    .select(['id', 'siteId', 'status', 'stopping', 'stopReason', 'hold', 'approvals', 'gatePassed'])
    .select([
      'startAt',
      'plan',
      'currentPhase',
      'phaseOpenedMs',
      'counts',
      'released',
      'hardFailures',
      'upgradedByPhase',
      'waitsUntil',
    ])
    .where('orgId', '=', scope.orgId)
    .where(isRunning(now))
    .orderBy('id')
    .forUpdate()
    .execute()
}

/** The appliance as events name it. */
interface Named {
  readonly mac: string | null
  readonly name: string
  readonly siteId: string | null
}

export interface LockedTarget extends MxedgeTargetNow, Named {
  readonly upgradeId: string
  /** Its position in the plan. */
  readonly ordinal: number
  readonly registrationEpoch: number
}

interface TargetRow extends Omit<LockedTarget, 'appliance' | 'command'> {
  readonly exists: boolean
  readonly isReplaced: boolean
  readonly hasLeft: boolean
  readonly clusterId: string | null
  readonly connected: boolean | null
  readonly isLost: boolean
  readonly connectedMs: number | null
  readonly services: readonly MxedgeService[] | null
  readonly distro: string | null
  readonly canStage: boolean
  readonly canStageDistro: boolean
  readonly commandId: string | null
  readonly commandState: StepCommand['state'] | null
  readonly refusal: string | null
  readonly refusalIsFinal: boolean
  readonly isForgotten: boolean
  readonly isGatewayLost: boolean
  readonly isTimedOut: boolean
}

const upgradeKeys = columnsOf('mxedgeUpgrade', { id: 'uuid', siteId: 'uuid' }, { upTo: 'integer' })

/** Lists the targets that MxedgeUpgradeNow.targets describes, in the order of the plan. */
export async function listTargets(tx: Tx, scope: InOrg, upgrades: readonly LockedUpgrade[]): Promise<LockedTarget[]> {
  const keys = upgrades.map(({ id, siteId, stopping, currentPhase, plan }) => ({
    id,
    siteId,
    upTo: stopping === null ? currentPhase : plan.phases,
  }))
  const { rows } = await sql<TargetRow>`
    select target.upgrade_id, target.mxedge_id, target.registration_epoch, target.phase, target.wave, target.ordinal, target.planned_site_id, target.state,
      target.entered_ms, target.steps, target.step, target.staged, target.attempt, target.failed_attempts, target.lost_attempts,
      target.retry_at_ms, coalesce(mxedge.name, target.name) as name, mxedge.mac, mxedge.site_id,
      mxedge.id is not null as exists, mxedge.mxcluster_id as cluster_id,
      mxedge.registration_epoch is distinct from target.registration_epoch as is_replaced,
      upgrade.site_id is not null and mxedge.site_id is distinct from upgrade.site_id as has_left,
      session.connected, session.lost_at is not null as is_lost, session.connected_ms,
      session.report->'services' as services, session.facts->>'distro' as distro,
      coalesce(session.facts->'methods' ? 'stage', false) as can_stage,
      coalesce(session.facts->'methods' ? 'distro.stage', false) as can_stage_distro,
      target.command_id, command.state as command_state, command.outcome->>'text' as refusal,
      coalesce((command.outcome->>'final')::boolean, false) as refusal_is_final,
      coalesce(command.epoch < session.epoch and session.facts ? 'commands'
        and not session.facts->'commands' ? command.id::text, false) as is_forgotten,
      coalesce(coalesce(command.outcome->>'why', command.outcome->>'lost') = 'gateway_lost', false) as is_gateway_lost,
      coalesce(command.outcome->>'why' = 'timeout', false) as is_timed_out
    from ${rowsAs('upgrade', upgradeKeys, keys)}
    join mxedge_upgrade_target target on target.org_id = ${scope.orgId} and target.upgrade_id = upgrade.id
      and target.phase <= upgrade.up_to and target.state <> ${noneOf(terminalStates)}
    left join mxedge on mxedge.org_id = target.org_id and mxedge.id = target.mxedge_id
    left join mxedge_session session on session.org_id = mxedge.org_id and session.mxedge_id = mxedge.id
    left join mxedge_command command on command.org_id = target.org_id and command.id = target.command_id
    order by target.upgrade_id, target.ordinal
  `.execute(tx)
  return rows.map(targetOf)
}

function targetOf(row: TargetRow): LockedTarget {
  const {
    exists,
    isReplaced,
    hasLeft,
    clusterId,
    connected,
    isLost,
    connectedMs,
    services,
    distro,
    canStage,
    canStageDistro,
    ...rest
  } = row
  const { commandId, commandState, refusal, refusalIsFinal, isForgotten, isGatewayLost, isTimedOut, ...target } = rest
  const isConnected = connected === true && !isLost
  return {
    ...target,
    appliance: exists
      ? {
          link: linkOf(connected === true, isConnected),
          connectedMs: isConnected ? connectedMs : null,
          isReplaced,
          hasLeft,
          clusterId,
          canStage,
          canStageDistro,
          services: services ?? [],
          distro,
        }
      : null,
    command:
      commandId === null || commandState === null
        ? null
        : { id: commandId, state: commandState, refusal, refusalIsFinal, isForgotten, isGatewayLost, isTimedOut },
  }
}

/** Lists the clusters that have a member in flight in an upgrade other than `upgradeId`. */
export async function listBusyClusters(tx: Tx, scope: InOrg): Promise<{ upgradeId: string; clusterId: string }[]> {
  const { rows } = await sql<{ upgradeId: string; clusterId: string }>`
    select distinct target.upgrade_id, mxedge.mxcluster_id as cluster_id
    from mxedge_upgrade upgrade
    join mxedge_upgrade_target target on target.org_id = upgrade.org_id and target.upgrade_id = upgrade.id
    join mxedge on mxedge.org_id = target.org_id and mxedge.id = target.mxedge_id
    where upgrade.org_id = ${scope.orgId} and upgrade.finished_at is null and mxedge.mxcluster_id is not null
      and target.state = ${anyOf(inFlightStates)}
  `.execute(tx)
  return rows
}

/**
 * Locks the appliances that are about to be commanded, so that none is replaced, moved or deleted before the commands
 * are committed. @returns How often each has been registered; those that were deleted are missing.
 */
export async function shareAppliances(
  tx: Tx,
  scope: InOrg,
  ids: readonly string[],
): Promise<Map<string, { readonly registrationEpoch: number; readonly siteId: string | null }>> {
  const rows = await tx
    .selectFrom('mxedge')
    .select(['id', 'registrationEpoch', 'siteId'])
    .where('orgId', '=', scope.orgId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forShare()
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** A change of a target with the command that goes out with it. */
export interface AppliedChange extends Omit<TargetChange, 'order'> {
  readonly upgradeId: string
  readonly mxedgeId: string
  readonly attempt: number
  /** Null: the command stays the same. */
  readonly newCommandId: string | null
}

const targetColumns = columnsOf(
  'mxedgeUpgradeTarget',
  {
    orgId: 'uuid',
    upgradeId: 'uuid',
    mxedgeId: 'uuid',
    state: 'text',
    reason: 'text',
    steps: 'jsonb',
    step: 'integer',
    staged: 'integer',
    attempt: 'integer',
    failedAttempts: 'integer',
    lostAttempts: 'integer',
    retryAtMs: 'float8',
  },
  { newCommandId: 'uuid' },
)

export async function updateTargets(
  tx: Tx,
  scope: InOrg,
  changes: readonly AppliedChange[],
  nowMs: number,
): Promise<void> {
  const rows = changes.map((change) => ({ ...change, orgId: scope.orgId }))
  const isEntered = sql`mxedge_upgrade_target.state <> new.state or new.new_command_id is not null`
  await updateRows(tx, targetColumns, rows, {
    key: ['orgId', 'upgradeId', 'mxedgeId'],
    set: sql`command_id = coalesce(new.new_command_id, mxedge_upgrade_target.command_id),
      entered_ms = case when ${isEntered} then ${nowMs}::float8 else mxedge_upgrade_target.entered_ms end`,
  })
}

const upgradeColumns = columnsOf('mxedgeUpgrade', { ...roundColumns, gatePassed: 'integer', waitsUntil: 'timestamptz' })

export async function updateUpgrades(
  tx: Tx,
  scope: InOrg,
  changes: readonly { readonly id: string; readonly change: MxedgeUpgradeChange }[],
): Promise<void> {
  const rows = changes.map(({ id, change }) => ({ ...change, orgId: scope.orgId, id }))
  const beginsCheck = sql`new.hold->>'by' = 'check' and mxedge_upgrade.hold->>'by' is distinct from 'check'`
  await updateRows(tx, upgradeColumns, rows, {
    key: ['orgId', 'id'],
    set: sql`
      check_due_ms = case when ${beginsCheck} then (new.hold->>'since_ms')::float8 else mxedge_upgrade.check_due_ms end,
      check_attempts = case when ${beginsCheck} then 0 else mxedge_upgrade.check_attempts end`,
  })
  noteChanges(tx, 'mxedge_upgrade', rows)
}
