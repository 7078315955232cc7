import { type RawBuilder, sql } from 'kysely'
import type { InOrg, OrgScope } from '../../access/scope.ts'
import { type Reader, type Tx, json } from '../../platform/db.ts'
import { columnsOf, insertRows, rowsAs } from '../../platform/rows.ts'
import type { DeviceCapabilities } from '../tables.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { wakeAfterCommit } from '../../platform/wakes.ts'
import type { CommandOrder, CommandOutcome, LossReason, NewCommand } from './command.ts'
import { disturbsUpgrade } from './store-upgrades.ts'

/**
 * End of a query that locks rows of `command`: everyone who changes several commands at once locks them in the
 * order of their ids, hence no deadlock between the engine, the dispatcher, outcomes and lost sessions.
 */
export const inOrder = sql`order by command.id for update of command`

/**
 * A lateral query that locks the command with the key of `row`, found as in rollout/store-targets.ts. Rows that come in
 * the order of their ids are locked in it, as by `inOrder`. The caller checks the state: it may be new since `row` was read.
 */
function lockByKey(row: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select * from device_command where org_id = ${row}.org_id and id = ${row}.id limit 1 for update)`
}

const newColumns = columnsOf('deviceCommand', {
  orgId: 'uuid',
  id: 'uuid',
  deviceId: 'uuid',
  siteUpgradeId: 'uuid',
  kind: 'text',
  attempt: 'integer',
  params: 'jsonb',
  createdAt: 'timestamptz',
  expiresAt: 'timestamptz',
})

/** Queues commands. One that its site upgrade has queued already (same device, kind and attempt) is left as it is. */
export async function insertCommands(tx: Tx, scope: InOrg, commands: readonly NewCommand[]): Promise<void> {
  if (commands.length === 0) return
  await insertRows(tx, newColumns, commands, {
    every: { orgId: scope.orgId },
    tail: sql`on conflict (org_id, site_upgrade_id, device_id, kind, attempt) where site_upgrade_id is not null do nothing`,
  })
  wakeAfterCommit(tx, 'commands')
}

/** SQL condition on a device command; each half of it has an index of its own. */
export const isOpen = sql<boolean>`(state = 'queued' or state = 'sent')`

/** Whether a command for the device is on its way, or waits for that. */
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

/** A command whose intent to send is committed, with what its driver must know of the device. */
export type CommandToSend = CommandOrder & {
  readonly orgId: string
  readonly id: string
  readonly deviceId: string
  /** Of the session that must carry it. */
  readonly epoch: string
  /** Of the call that must carry it: the device's answer names it, whenever and wherever it comes. */
  readonly callId: number
  readonly mac: string
  readonly type: DeviceType
  readonly capabilities: DeviceCapabilities
}

const idColumns = columnsOf('deviceCommand', { orgId: 'uuid', id: 'uuid' })

/**
 * Marks as sent, and returns, the oldest queued command of each device that has a session on the node
 * and nothing in flight. A restart waits while an upgrade is under way on its device. The caller writes to the
 * sockets once this has committed.
 */
export async function claimQueuedCommands(
  tx: Tx,
  nodeId: string,
  { at, atMs, limit }: { at: Date; atMs: number; limit: number },
): Promise<CommandToSend[]> {
  // Nothing here is sorted: the whole queue would be, at each of the many claims that work it off. Each table is read by
  // its key, row by row, as in rollout/store-targets.ts: the planner takes a full queue for an empty one.
  const next = await sql<{ orgId: string; id: string }>`
    select queued.org_id, queued.id
    from device_command queued
    cross join lateral (select * from device_session where device_id = queued.device_id limit 1) session
    cross join lateral (
      select command.id from device_command command
      where command.device_id = queued.device_id and command.state = 'queued'
        and (command.expires_at is null or command.expires_at > ${at}) and not ${disturbsUpgrade}
      order by command.id limit 1) oldest
    left join lateral (
      select id from device_command where device_id = queued.device_id and state = 'sent' limit 1) sent on true
    where queued.state = 'queued' and queued.id = oldest.id and sent.id is null
      and session.connected and session.node_id = ${nodeId}
    limit ${limit}
  `.execute(tx)
  if (next.rows.length === 0) return []
  // A statement of its own, for the same reason: it would search the whole queue once a row.
  // A row that another transaction has locked is about to be cancelled or to expire, so nobody waits for it.
  const claimed = await sql<CommandToSend>`
    with locked as materialized (
      select command.* from ${rowsAs('next', idColumns, next.rows)}
      cross join lateral (
        select * from device_command
        where org_id = next.org_id and id = next.id limit 1 for update skip locked) command
      where command.state = 'queued'
    )
    update device_command command set state = 'sent', epoch = session.epoch, sent_at = ${at}, sent_ms = ${atMs},
      call_id = nextval('device_call_id')::integer
    from locked
    cross join lateral (select * from device_session where device_id = locked.device_id limit 1) session
    cross join lateral (select * from device where id = locked.device_id limit 1) device
    cross join lateral (
      select * from device_status where org_id = locked.org_id and device_id = locked.device_id limit 1) status
    where command.org_id = locked.org_id and command.id = locked.id
      and session.connected and session.node_id = ${nodeId} and device.org_id = locked.org_id
    returning ${sentColumns}
  `.execute(tx)
  return claimed.rows
}

/** The columns of a CommandToSend, of `command`, `device` and `status`. */
export const sentColumns = sql`command.org_id, command.id, command.device_id, command.epoch, command.call_id, command.kind,
  command.params, device.mac, device.type, status.capabilities`

/** Of a command, as the device's answer tells it. */
export interface CallKey {
  readonly deviceId: string
  readonly callId: number
}

const callColumns = columnsOf('deviceCommand', { deviceId: 'uuid', callId: 'integer' })

/** Those of the calls' commands whose end is open still, or unknown because their connection was lost. */
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

/** Nobody waits for the answer any more where the device took too long: then it comes to nothing. */
export const isUnanswered = sql`(command.state = 'sent'
  or command.state = 'unknown' and command.outcome ->> 'why' in ('connection_lost', 'gateway_lost'))`

const unsentColumns = columnsOf('deviceCommand', { id: 'uuid', epoch: 'bigint' })

/** Puts back commands that were claimed but certainly never written to a socket. */
export async function requeueCommands(tx: Tx, commands: readonly Pick<CommandToSend, 'id' | 'epoch'>[]): Promise<void> {
  await sql`
    with locked as materialized (
      select command.org_id, command.id
      from ${rowsAs('unsent', unsentColumns, commands)}
      join device_command command on command.id = unsent.id and command.epoch = unsent.epoch
      where command.state = 'sent' ${inOrder}
    )
    update device_command command
    set state = 'queued', epoch = null, call_id = null, sent_at = null, sent_ms = null
    from locked where command.org_id = locked.org_id and command.id = locked.id
  `.execute(tx)
}

/** The end of a command that was sent by the call. */
export interface FinishedCommand {
  readonly orgId: string
  readonly id: string
  readonly callId: number
  readonly outcome: CommandOutcome
}

const endedColumns = columnsOf('deviceCommand', {
  orgId: 'uuid',
  id: 'uuid',
  callId: 'integer',
  state: 'text',
  outcome: 'jsonb',
})

/**
 * Writes outcomes. One of another call, or of a command that has ended already, is stale and writes nothing;
 * but what a device did proves more than that its connection was lost.
 */
export async function finishCommands(tx: Tx, finished: readonly FinishedCommand[], at: Date): Promise<void> {
  const rows = finished.map(({ outcome: { kind, ...outcome }, ...call }) => ({ ...call, state: kind, outcome }))
  const ended = await sql<EndedCommand>`
    with locked as materialized (
      select command.org_id, command.id, ended.state, ended.outcome
      from (select * from ${rowsAs('ended', endedColumns, rows)} order by id) ended
      cross join lateral ${lockByKey(sql`ended`)} command
      where command.call_id = ended.call_id
        and (command.state = 'sent' or ended.state <> 'unknown' and ${isUnanswered})
    )
    update device_command command set state = locked.state, outcome = locked.outcome, finished_at = ${at}
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning command.site_upgrade_id, command.device_id
  `.execute(tx)
  wakeSiteUpgrades(tx, ended.rows)
}

const sessionColumns = columnsOf('deviceSession', { deviceId: 'uuid', epoch: 'bigint' })

/**
 * What was in flight on the sessions, and on older ones of their devices, may have run: nobody will
 * hear its reply any more. A session that has just been opened has nothing in flight yet.
 */
export async function loseCommands(
  tx: Tx,
  sessions: readonly { readonly deviceId: string; readonly epoch: string }[],
  { at, why }: { readonly at: Date; readonly why: LossReason },
): Promise<void> {
  const ended = await sql<EndedCommand>`
    with locked as materialized (
      select command.org_id, command.id
      from (
        select sent.*, session.epoch as last_epoch
        from ${rowsAs('session', sessionColumns, sessions)}
        cross join lateral (
          select org_id, id from device_command
          where device_id = session.device_id and state = 'sent' and epoch <= session.epoch offset 0) sent
        order by sent.id) sent
      cross join lateral ${lockByKey(sql`sent`)} command
      where command.state = 'sent' and command.epoch <= sent.last_epoch
    )
    update device_command command
    set state = 'unknown', outcome = ${json({ why })}::jsonb, finished_at = ${at}
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning command.site_upgrade_id, command.device_id
  `.execute(tx)
  wakeSiteUpgrades(tx, ended.rows)
}

/**
 * Ends what has been in flight since before `sentBeforeMs` of service time: longer than any command takes, so nobody
 * waits for it.
 */
export async function timeOutCommands(tx: Tx, sentBeforeMs: number, at: Date): Promise<void> {
  const ended = await sql<EndedCommand>`
    with locked as materialized (
      select command.org_id, command.id from device_command command
      where command.state = 'sent' and command.sent_ms < ${sentBeforeMs} ${inOrder}
    )
    update device_command command
    set state = 'unknown', outcome = ${json({ why: 'timeout' })}::jsonb, finished_at = ${at}
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning command.site_upgrade_id, command.device_id
  `.execute(tx)
  wakeSiteUpgrades(tx, ended.rows)
}

interface EndedCommand {
  readonly siteUpgradeId: string | null
  readonly deviceId: string
}

function wakeSiteUpgrades(tx: Tx, ended: readonly EndedCommand[]): void {
  if (ended.length > 0) wakeAfterCommit(tx, 'commands')
  const ofUpgrades = ended.filter(({ siteUpgradeId }) => siteUpgradeId !== null)
  if (ofUpgrades.length === 0) return
  wakeAfterCommit(
    tx,
    'rollouts',
    ofUpgrades.map(({ deviceId }) => deviceId),
  )
}
