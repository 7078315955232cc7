import { type RawBuilder, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import { type Db, type Reader, type Tx, anyOf } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, insertRows, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import type { CommandProgress, DeviceCapabilities } from '../tables.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { type WokenRow, wakeAfterCommit } from '../../platform/database/wakes.ts'
import { type CommandOrder, type NewCommand, diagnosticKinds } from './command.ts'
import { disturbsUpgrade } from './store-upgrades.ts'

/**
 * The end of a query that locks rows of `command`. All code that changes several commands in one transaction locks them
 * in the order of their ids, so that the engine, the dispatcher, outcomes and lost sessions never deadlock.
 */
export const inOrder = sql`order by command.id for update of command`

/**
 * A lateral query that locks the command with the key of `row`, found as in rollout/targets/store.ts. If the rows are
 * in the order of their ids, they are locked in it, as by `inOrder`. The caller checks the state, which may have
 * changed since `row` was read.
 */
export function lockByKey(row: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select * from device_command where org_id = ${row}.org_id and id = ${row}.id limit 1 for update)`
}

export const newTypes = {
  orgId: 'uuid',
  id: 'uuid',
  deviceId: 'uuid',
  siteId: 'uuid',
  siteUpgradeId: 'uuid',
  kind: 'text',
  attempt: 'integer',
  params: 'jsonb',
  imageId: 'uuid',
  version: 'text',
  createdAt: 'timestamptz',
  expiresAt: 'timestamptz',
} as const

/** The columns of a command that is queued. */
export const newColumns = columnsOf('deviceCommand', newTypes)

/** The columns that have the parameters of a command. */
export function paramsColumns({
  params,
}: CommandOrder): Pick<RowOf<typeof newColumns>, 'params' | 'imageId' | 'version'> {
  return 'image_id' in params
    ? { params: null, imageId: params.image_id, version: params.version }
    : { params: { ...params }, imageId: null, version: null }
}

/** The parameters of `command`, as its order has them. */
export const paramsOfCommand = sql`coalesce(command.params,
  jsonb_build_object('image_id', command.image_id, 'version', command.version))`

/**
 * Queues commands of people; insertUpgradeCommands() inserts those of upgrades. The caller has locked the devices, or rows that are
 * deleted with them, so that no command outlives its device: see migration 491.
 */
export async function insertCommands(tx: Tx, scope: InOrg, commands: readonly NewCommand[]): Promise<void> {
  if (commands.length === 0) return
  const rows = commands.map((command) => ({ ...command, ...paramsColumns(command) }))
  await insertRows(tx, newColumns, rows, { every: { orgId: scope.orgId } })
  wakeAfterCommit(tx, 'commands')
}

/**
 * The commands in flight on a device. An index has those of people. A device has few of upgrades, which are all read: see
 * migration 285.
 * @param deviceId An expression for the id of the device.
 */
export function inFlightOn(deviceId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select * from device_command where device_id = ${deviceId} and pending = 'sent'
    union all
    select * from device_command where device_id = ${deviceId} and site_upgrade_id is not null and state = 'sent')`
}

/** SQL condition on a device command. */
export const isOpen = sql<boolean>`(state = 'queued' or state = 'sent')`

/** Returns true if a command for the device is queued or in flight. */
export async function hasOpenCommand(tx: Tx, scope: OrgScope, deviceId: string): Promise<boolean> {
  const open = await tx
    .selectFrom('deviceCommand')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .where(isOpen)
    .limit(1)
    .execute()
  return open.length > 0
}

/** A command whose intent to send is committed, with the facts about the device that its driver needs. */
export type CommandToSend = CommandOrder & {
  readonly orgId: string
  readonly id: string
  readonly deviceId: string
  /** The epoch of the session that must carry it. */
  readonly epoch: string
  /** The id of the call that must carry it; the device's answer contains it, whenever and wherever it arrives. */
  readonly callId: number
  readonly mac: string
  readonly type: DeviceType
  readonly capabilities: DeviceCapabilities
}

export function isCommandToSend(row: WokenRow | CommandToSend): row is CommandToSend {
  return 'callId' in row
}

function isDiagnosticKind(kind: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`${kind} in (${sql.join(diagnosticKinds.map((name) => sql.lit(name)))})`
}

/** The columns of a CommandToSend, of `command`, `device` and `status`. */
export const sentColumns = sql`command.org_id, command.id, command.device_id, command.epoch, command.call_id, command.kind,
  ${paramsOfCommand} as params, device.mac, device.type, status.capabilities`

interface ClaimValues {
  readonly nodeId: string
  readonly at: Date
  readonly atMs: number
  readonly limit: number
  readonly rebooting: readonly string[]
}

const delays = (other: RawBuilder<unknown>) =>
  sql`(not ${isDiagnosticKind(other)} or ${isDiagnosticKind(sql`queued.kind`)})`

// The query sorts nothing: otherwise each of the many claims that process the queue would sort the whole queue. Each
// table is read by its key, row by row, as in rollout/targets/store.ts, because the planner treats a full queue as
// empty. The queue is read once, by a query of its own. A row that another transaction has locked is about to be cancelled or
// to expire, so it is skipped.
const claimQueued = statement<ClaimValues, CommandToSend>(
  (param) => sql`
    with next as materialized (
      select queued.org_id, queued.id, session.epoch as session_epoch
      from device_command queued
      cross join lateral (select * from device_session where device_id = queued.device_id limit 1) session
      cross join lateral (
        select command.id from device_command command
        where command.device_id = queued.device_id and command.pending = 'queued'
          and (command.expires_at is null or command.expires_at > ${param('at')}) and not ${disturbsUpgrade}
          and ${delays(sql`command.kind`)}
        order by command.id limit 1) oldest
      left join lateral (
        select id from ${inFlightOn(sql`queued.device_id`)} other
        where ${delays(sql`other.kind`)}
          and (other.progress ->> 'step' = 'return') is not true limit 1) sent on true
      where queued.pending = 'queued' and queued.id = oldest.id and sent.id is null
        and session.connected and session.node_id = ${param('nodeId')} and queued.device_id <> all(${param('rebooting')}::uuid[])
      limit ${param('limit')}
    ), locked as materialized (
      select command.*, next.session_epoch from next
      cross join lateral (
        select * from device_command
        where org_id = next.org_id and id = next.id limit 1 for update skip locked) command
      where command.state = 'queued'
    )
    update device_command command set state = 'sent', epoch = locked.session_epoch, sent_at = ${param('at')}, sent_ms = ${param('atMs')},
      call_id = nextval('device_call_id')::integer
    from locked
    cross join lateral (select * from device where id = locked.device_id limit 1) device
    cross join lateral (
      select * from device_status where org_id = locked.org_id and device_id = locked.device_id limit 1) status
    where command.org_id = locked.org_id and command.id = locked.id and device.org_id = locked.org_id
    returning ${sentColumns}
  `,
)

/**
 * Marks the oldest queued command of each device as sent, if the device has a session on the node and nothing in
 * flight, and returns these commands. Other commands don't wait for a diagnostic command, which waits for all others,
 * nor for a part of the device to return. A restart waits while an upgrade runs on its device. The caller writes to the
 * sockets once this has committed. A claim is a single statement: one round trip and, if it finds something, one
 * commit.
 */
export function claimQueuedCommands(
  claimDb: Db,
  nodeId: string,
  claim: Omit<ClaimValues, 'nodeId'>,
): Promise<CommandToSend[]> {
  return claimQueued(claimDb, { nodeId, ...claim })
}

/** Identifies a command by its call, as the device's answer does. */
export interface CallKey {
  readonly deviceId: string
  readonly callId: number
}

const callColumns = columnsOf('deviceCommand', { deviceId: 'uuid', callId: 'integer' })

/** Lists the calls' commands whose outcome is open, or unknown because their connection was lost. */
export async function listUnansweredCommands(reader: Reader, calls: readonly CallKey[]): Promise<CommandToSend[]> {
  const found = await sql<CommandToSend>`
    select ${sentColumns}
    from ${rowsAs('call', callColumns, calls)}
    join device_command command on command.device_id = call.device_id and command.call_id = call.call_id
      and command.state in ('sent', 'unknown')
    join device on device.org_id = command.org_id and device.id = command.device_id
    join device_status status on status.org_id = command.org_id and status.device_id = command.device_id
    where ${isUnanswered}
  `.execute(reader)
  return found.rows
}

/** An answer after the device took too long has no effect, because the wait has ended. */
export const isUnanswered = sql`(command.state = 'sent'
  or command.state = 'unknown' and command.outcome ->> 'why' in ('connection_lost', 'gateway_lost'))`

const unsentColumns = columnsOf('deviceCommand', { orgId: 'uuid', id: 'uuid', epoch: 'bigint' })

/** Returns commands to the queue that were claimed but certainly never written to a socket. */
export async function requeueCommands(
  tx: Tx,
  commands: readonly Pick<CommandToSend, 'orgId' | 'id' | 'epoch'>[],
): Promise<void> {
  await sql`
    with locked as materialized (
      select command.org_id, command.id
      from (select * from ${rowsAs('unsent', unsentColumns, commands)} order by id) unsent
      cross join lateral ${lockByKey(sql`unsent`)} command
      where command.epoch = unsent.epoch and command.state = 'sent'
    )
    update device_command command
    set state = 'queued', epoch = null, call_id = null, sent_at = null, sent_ms = null, progress = null, progress_ms = null
    from locked where command.org_id = locked.org_id and command.id = locked.id
  `.execute(tx)
}

/** A step that the command of the call has reached. */
export interface AdvancedCommand {
  readonly orgId: string
  readonly id: string
  readonly callId: number
  readonly progress: CommandProgress
  /** Service time. */
  readonly progressMs: number
}

const progressColumns = columnsOf('deviceCommand', {
  orgId: 'uuid',
  id: 'uuid',
  callId: 'integer',
  progress: 'jsonb',
  progressMs: 'float8',
})

/**
 * Locks these commands, except those that another transaction has locked, or whose devices it has locked: the end of a
 * command appends an event of its device.
 * @returns The ids of the latter.
 */
export async function lockFreeCommands(
  tx: Tx,
  { orgIds, ids }: { readonly orgIds: readonly string[]; readonly ids: readonly string[] },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with free as materialized (
      select command.id from device_command command
      join device on device.org_id = command.org_id and device.id = command.device_id
      where command.org_id = ${anyOf(orgIds)} and command.id = ${anyOf(ids)}
      order by command.id for update of command skip locked for key share of device skip locked
    )
    select command.id from device_command command
    where command.org_id = ${anyOf(orgIds)} and command.id = ${anyOf(ids)}
      and not exists (select from free where free.id = command.id)
  `.execute(tx)
  return rows.map(({ id }) => id)
}

/** If a command has several steps, the last one counts. */
export async function updateCommandProgress(tx: Tx, advanced: readonly AdvancedCommand[]): Promise<void> {
  const rows = [...new Map(advanced.map((step) => [step.id, step])).values()]
  await sql`
    with locked as materialized (
      select command.org_id, command.id, step.progress, step.progress_ms
      from (select * from ${rowsAs('step', progressColumns, rows)} order by id) step
      cross join lateral ${lockByKey(sql`step`)} command
      where command.call_id = step.call_id and command.state = 'sent'
    )
    update device_command command set progress = locked.progress, progress_ms = locked.progress_ms
    from locked where command.org_id = locked.org_id and command.id = locked.id
  `.execute(tx)
}
