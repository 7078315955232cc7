import { type Selectable, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { AdvancedCommand, CallKey } from '../../devices/commands/store.ts'
import type { FinishedCommand } from '../../devices/commands/store-ended.ts'
import type { LossReason } from '../../devices/commands/command.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Db, type Reader, type Tx, anyOf, json, noneOf } from '../../platform/database/db.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { columnsOf, insertRows, rowsAs } from '../../platform/database/rows.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { Mxedge } from '../mxedge.ts'
import type { MxedgeCommandTable } from '../tables.ts'
import type { MxedgeSessionKey } from '../sessions/store.ts'
import type { MxedgeOrder } from './command.ts'

export type MxedgeCommand = Selectable<MxedgeCommandTable>

export type NewMxedgeCommand = MxedgeOrder & {
  readonly id: string
  readonly mxedgeId: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

export async function insertCommand(tx: Tx, scope: InOrg, command: NewMxedgeCommand): Promise<void> {
  await tx
    .insertInto('mxedgeCommand')
    .values({ ...command, orgId: scope.orgId, params: json(command.params) })
    .execute()
  wakeAfterCommit(tx, 'mxedges')
}

/** A command of an upgrade, with its number among the upgrade's commands to the appliance. */
export type NewUpgradeCommand = NewMxedgeCommand & { readonly upgradeId: string; readonly upgradeAttempt: number }

const newColumns = columnsOf('mxedgeCommand', {
  orgId: 'uuid',
  id: 'uuid',
  mxedgeId: 'uuid',
  kind: 'text',
  params: 'jsonb',
  upgradeId: 'uuid',
  upgradeAttempt: 'integer',
  createdAt: 'timestamptz',
  expiresAt: 'timestamptz',
})

/** Queues commands of upgrades. A second one with the same number violates a unique index. */
export async function insertUpgradeCommands(
  tx: Tx,
  scope: InOrg,
  commands: readonly NewUpgradeCommand[],
): Promise<void> {
  if (commands.length === 0) return
  await insertRows(tx, newColumns, commands, { every: { orgId: scope.orgId } })
  wakeAfterCommit(tx, 'mxedges')
}

/** Lists the commands of an appliance, the newest first. */
export function listMxedgeCommands(
  reader: Reader,
  scope: InOrg,
  { mxedgeId, page }: { readonly mxedgeId: string; readonly page: Page },
): Promise<Paged<MxedgeCommand>> {
  const hits = reader
    .selectFrom('mxedgeCommand')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('mxedgeId', '=', mxedgeId)
  return pageOf<MxedgeCommand>(reader, { hits, direction: 'desc', sizes: smallRows }, page)
}

/** A command whose intent to send is committed. */
export type MxedgeCommandToSend = MxedgeOrder & {
  readonly orgId: string
  readonly id: string
  /** The id of the appliance. */
  readonly deviceId: string
  readonly epoch: string
  readonly callId: number
  /** The current configuration of the appliance. */
  readonly mxedge: { readonly name: string; readonly model: string; readonly doc: Record<string, unknown> }
}

const sentColumns = sql`command.org_id, command.id, command.mxedge_id as device_id, command.epoch, command.call_id,
  command.kind, command.params, mxedge.name, mxedge.model, mxedge.doc`

/** A row with the columns `sentColumns`. */
type SentRow = Omit<MxedgeCommandToSend, 'mxedge'> & MxedgeCommandToSend['mxedge']

function commandOf({ name, model, doc, ...command }: SentRow): MxedgeCommandToSend {
  // The rest has one kind of orders with their parameters, which the compiler loses.
  return { ...command, mxedge: { name, model, doc } } as MxedgeCommandToSend
}

/**
 * Marks the oldest queued command of each appliance as sent, if the appliance has a session on the node and nothing in
 * flight, and returns these commands. It is a single statement, so a claim costs one round trip and, if it finds
 * commands, one commit.
 */
export async function claimQueuedCommands(
  claimDb: Db,
  nodeId: string,
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<MxedgeCommandToSend[]> {
  // The query looks up the session of each queued command, one by one, because the planner expects few sessions: it
  // would otherwise search for a command of each connected appliance.
  const claimed = await sql<SentRow>`
    with oldest as materialized (
      select distinct on (queued.mxedge_id) queued.org_id, queued.id
      from mxedge_command queued
      cross join lateral (select * from mxedge_session where mxedge_id = queued.mxedge_id limit 1) session
      left join lateral (
        select id from mxedge_command where mxedge_id = queued.mxedge_id and state = 'sent' limit 1) sent on true
      where queued.state = 'queued' and queued.expires_at > ${at} and session.connected and session.lost_at is null
        and session.node_id = ${nodeId} and sent.id is null
      order by queued.mxedge_id, queued.id limit ${limit}
    ), locked as materialized (
      select command.* from oldest
      cross join lateral (
        select * from mxedge_command
        where org_id = oldest.org_id and id = oldest.id limit 1 for update skip locked) command
      where command.state = 'queued'
    )
    update mxedge_command command set state = 'sent', epoch = session.epoch, sent_at = ${at},
      call_id = nextval('device_call_id')::integer
    from locked
    cross join lateral (select * from mxedge_session where mxedge_id = locked.mxedge_id limit 1) session
    cross join lateral (
      select * from mxedge where org_id = locked.org_id and id = locked.mxedge_id limit 1) mxedge
    where command.org_id = locked.org_id and command.id = locked.id and session.connected
    returning ${sentColumns}
  `.execute(claimDb)
  return claimed.rows.map(commandOf)
}

const callColumns = columnsOf('mxedgeCommand', { callId: 'integer' }, { deviceId: 'uuid' })

/** Lists the calls' commands whose outcome is open, or unknown because their connection was lost. */
export async function listUnansweredCommands(
  reader: Reader,
  calls: readonly CallKey[],
): Promise<MxedgeCommandToSend[]> {
  const found = await sql<SentRow>`
    select ${sentColumns} from ${rowsAs('call', callColumns, calls)}
    join mxedge_command command on command.mxedge_id = call.device_id and command.call_id = call.call_id
    join mxedge on mxedge.org_id = command.org_id and mxedge.id = command.mxedge_id
    where ${isUnanswered}
  `.execute(reader)
  return found.rows.map(commandOf)
}

const isUnanswered = sql`(command.state = 'sent'
  or command.state = 'unknown' and command.outcome ->> 'why' in ('connection_lost', 'gateway_lost'))`

/**
 * Locks these commands, except those that another transaction has locked.
 * @returns The ids of the latter.
 */
export async function lockFreeCommands(
  tx: Tx,
  { orgIds, ids }: { readonly orgIds: readonly string[]; readonly ids: readonly string[] },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with free as materialized (
      select id from mxedge_command where org_id = ${anyOf(orgIds)} and id = ${anyOf(ids)}
      order by id for update skip locked
    )
    select id from mxedge_command command where org_id = ${anyOf(orgIds)} and id = ${anyOf(ids)}
      and not exists (select from free where free.id = command.id)
  `.execute(tx)
  return rows.map(({ id }) => id)
}

const unsentColumns = columnsOf('mxedgeCommand', { orgId: 'uuid', id: 'uuid', epoch: 'bigint' })

/** Returns commands to the queue that were claimed but certainly never written to a socket. */
export async function requeueCommands(
  tx: Tx,
  commands: readonly Pick<MxedgeCommandToSend, 'orgId' | 'id' | 'epoch'>[],
): Promise<void> {
  await sql`
    update mxedge_command command set state = 'queued', epoch = null, call_id = null, sent_at = null,
      progress = null, progressed_at = null
    from ${rowsAs('unsent', unsentColumns, commands)}
    where command.org_id = unsent.org_id and command.id = unsent.id and command.epoch = unsent.epoch and command.state = 'sent'
  `.execute(tx)
}

const endedColumns = columnsOf('mxedgeCommand', {
  orgId: 'uuid',
  id: 'uuid',
  callId: 'integer',
  state: 'text',
  outcome: 'jsonb',
})

/** A command that has just ended. */
export type EndedCommand = MxedgeOrder & Pick<MxedgeCommand, 'orgId' | 'id' | 'mxedgeId' | 'state' | 'outcome'>

/** Lists appliances of any organization. */
export function listMxedgesById(reader: Reader, ids: readonly string[]): Promise<Mxedge[]> {
  return reader.selectFrom('mxedge').selectAll().where('id', '=', anyOf(ids)).execute()
}

/**
 * Writes outcomes, except stale ones, and returns the commands that they have ended. An outcome that an appliance reports replaces
 * the loss of its connection, which remains as `lost`.
 */
export async function finishCommands(tx: Tx, finished: readonly FinishedCommand[], at: Date): Promise<EndedCommand[]> {
  const rows = finished.map(({ outcome: { kind, ...outcome }, ...call }) => ({ ...call, state: kind, outcome }))
  const ended = await sql<EndedCommand>`
    with locked as materialized (
      select command.org_id, command.id, ended.state, ended.outcome
      from ${rowsAs('ended', endedColumns, rows)}
      join mxedge_command command on command.org_id = ended.org_id and command.id = ended.id
        and command.call_id = ended.call_id
      where command.state = 'sent' or ended.state <> 'unknown' and ${isUnanswered}
      order by command.id for update of command
    )
    update mxedge_command command set state = locked.state, finished_at = ${at},
      outcome = locked.outcome || case when command.state = 'unknown'
        then jsonb_build_object('lost', command.outcome -> 'why') else '{}' end
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning command.org_id, command.id, command.mxedge_id, command.kind, command.params, command.state,
      command.outcome
  `.execute(tx)
  if (ended.rows.length > 0) wakeAfterCommit(tx, 'mxedges')
  return ended.rows
}

const sessionColumns = columnsOf('mxedgeSession', { mxedgeId: 'uuid', epoch: 'bigint' })

/** Ends the commands in flight on the sessions, and on older ones of their appliances, with an unknown outcome. */
export async function markMxedgeCommandsLost(
  tx: Tx,
  sessions: readonly MxedgeSessionKey[],
  { at, why }: { readonly at: Date; readonly why: LossReason },
): Promise<void> {
  await sql`
    with locked as materialized (
      select command.org_id, command.id
      from ${rowsAs('session', sessionColumns, sessions)}
      join mxedge_command command on command.mxedge_id = session.mxedge_id
      where command.state = 'sent' and command.epoch <= session.epoch
      order by command.id for update of command
    )
    update mxedge_command command set state = 'unknown', outcome = ${json({ why })}::jsonb, finished_at = ${at}
    from locked where command.org_id = locked.org_id and command.id = locked.id
  `.execute(tx)
}

/**
 * The commands that were sent last to an appliance, in the order of their ids: those of calls begin again after the highest. A
 * connection loses one or two of them, because one at a time is in flight.
 */
const RECENT = 16

/**
 * Returns commands of people to the queue that were lost with an earlier connection and that the agent does not know: they did not
 * reach it. It would answer a repeated one from its record. Those from before its registration were for another appliance.
 * @param knownIds The commands that the agent executes, or has answers of.
 */
export async function requeueForgotten(
  tx: Tx,
  scope: InOrg,
  { mxedge, knownIds, at }: { readonly mxedge: Mxedge; readonly knownIds: readonly string[]; readonly at: Date },
): Promise<void> {
  await sql`
    with recent as materialized (
      select id from mxedge_command
      where org_id = ${scope.orgId} and mxedge_id = ${mxedge.id} and call_id is not null
      order by id desc limit ${RECENT}
    ), locked as materialized (
      select command.org_id, command.id
      from recent join mxedge_command command on command.org_id = ${scope.orgId} and command.id = recent.id
      where command.state = 'unknown' and ${isUnanswered}
        and command.upgrade_id is null and command.expires_at > ${at} and command.created_at >= ${mxedge.registeredAt}
        and command.id <> ${noneOf(knownIds)}
      order by command.id for update of command
    )
    update mxedge_command command set state = 'queued', epoch = null, call_id = null, sent_at = null,
      progress = null, progressed_at = null, outcome = null, finished_at = null
    from locked where command.org_id = locked.org_id and command.id = locked.id
  `.execute(tx)
}

const progressColumns = columnsOf('mxedgeCommand', {
  orgId: 'uuid',
  id: 'uuid',
  callId: 'integer',
  progress: 'jsonb',
})

/** Writes the steps that commands have reached. If a command has several steps, the last one counts. */
export async function updateProgress(tx: Tx, advanced: readonly AdvancedCommand[], at: Date): Promise<void> {
  const rows = [...new Map(advanced.map((step) => [step.id, step])).values()]
  const advancing = await sql<{ orgId: string; id: string }>`
    with locked as materialized (
      select command.org_id, command.id, step.progress
      from ${rowsAs('step', progressColumns, rows)}
      join mxedge_command command on command.org_id = step.org_id and command.id = step.id
        and command.call_id = step.call_id
      where command.state = 'sent' order by command.id for update of command
    )
    update mxedge_command command set progress = locked.progress, progressed_at = ${at}
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning command.org_id, command.mxedge_id as id
  `.execute(tx)
  noteChanges(tx, 'mxedge_stats', advancing.rows)
}
