import { sql } from 'kysely'
import type { OrgScope } from '../../access/scope.ts'
import { type Tx, json } from '../../platform/db.ts'
import type { DeviceType } from '../../platform/schema/devices.ts'
import { wakeAfterCommit } from '../../platform/wakes.ts'
import type { CommandOrder, CommandOutcome, LossReason, NewCommand } from './command.ts'
import { disturbsUpgrade } from './store-upgrades.ts'

/** Queues commands. One that its job has queued already (same device, kind and attempt) is left as it is. */
export async function insertCommands(tx: Tx, scope: OrgScope, commands: readonly NewCommand[]): Promise<void> {
  if (commands.length === 0) return
  const rows = commands.map((command) => ({
    id: command.id,
    device_id: command.deviceId,
    job_id: command.jobId,
    kind: command.kind,
    attempt: command.attempt,
    params: command.params,
    created_at: command.createdAt,
    expires_at: command.expiresAt,
  }))
  await sql`
    insert into device_command (org_id, id, device_id, job_id, kind, attempt, params, created_at, expires_at)
    select ${scope.orgId}::uuid, id, device_id, job_id, kind, attempt, params, created_at, expires_at
    from jsonb_to_recordset(${json(rows)}::jsonb) as new (id uuid, device_id uuid, job_id uuid, kind text,
      attempt integer, params jsonb, created_at timestamptz, expires_at timestamptz)
    on conflict (org_id, job_id, device_id, kind, attempt) where job_id is not null do nothing
  `.execute(tx)
  wakeAfterCommit(tx, 'commands')
}

/** Whether a command for the device is on its way, or waits for that. */
export async function hasOpenCommand(tx: Tx, scope: OrgScope, deviceId: string): Promise<boolean> {
  const open = await tx
    .selectFrom('deviceCommand')
    .select('id')
    .where('orgId', '=', scope.orgId)
    .where('deviceId', '=', deviceId)
    .where('state', 'in', ['queued', 'sent'])
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
  readonly mac: string
  readonly type: DeviceType
  readonly capabilities: Readonly<Record<string, unknown>>
}

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
  const next = await sql<{ id: string }>`
    select distinct on (command.device_id) command.id
    from device_command command
    join device_session session on session.device_id = command.device_id
    where command.state = 'queued' and (command.expires_at is null or command.expires_at > ${at})
      and session.connected and session.node_id = ${nodeId}
      and not exists (
        select from device_command other where other.device_id = command.device_id and other.state = 'sent')
      and not ${disturbsUpgrade}
    order by command.device_id, command.id
    limit ${limit}
  `.execute(tx)
  // A statement of its own: the planner takes a full queue for an empty one, and would search it once a row. Commands
  // that somebody else has locked are being taken back.
  const claimed = await sql<CommandToSend>`
    with due as (
      select id from device_command where id = any(${next.rows.map(({ id }) => id)}) and state = 'queued'
      order by id for update skip locked
    )
    update device_command command set state = 'sent', epoch = session.epoch, sent_at = ${at}, sent_ms = ${atMs}
    from due, device_session session, device, device_status status
    where command.id = due.id
      and session.device_id = command.device_id and session.connected and session.node_id = ${nodeId}
      and device.org_id = command.org_id and device.id = command.device_id
      and status.org_id = command.org_id and status.device_id = command.device_id
    returning command.org_id, command.id, command.device_id, command.epoch, command.kind, command.params,
      device.mac, device.type, status.capabilities
  `.execute(tx)
  return claimed.rows
}

/** Puts back commands that were claimed but certainly never written to a socket. */
export async function requeueCommands(tx: Tx, commands: readonly Pick<CommandToSend, 'id' | 'epoch'>[]): Promise<void> {
  await sql`
    update device_command command set state = 'queued', epoch = null, sent_at = null, sent_ms = null
    from jsonb_to_recordset(${json(commands)}::jsonb) as unsent (id uuid, epoch bigint)
    where command.id = unsent.id and command.epoch = unsent.epoch and command.state = 'sent'
  `.execute(tx)
}

/** The end of a command that was sent under `epoch`. */
export interface FinishedCommand {
  readonly orgId: string
  readonly id: string
  readonly epoch: string
  readonly outcome: CommandOutcome
}

/** Writes outcomes. One of another epoch, or of a command that has ended already, is stale and writes nothing. */
export async function finishCommands(tx: Tx, finished: readonly FinishedCommand[], at: Date): Promise<void> {
  const rows = finished.map(({ orgId, id, epoch, outcome: { kind, ...outcome } }) => ({
    org_id: orgId,
    id,
    epoch,
    state: kind,
    outcome,
  }))
  const ended = await sql<EndedCommand>`
    with ended as (
      select command.org_id, command.id, new.state, new.outcome
      from jsonb_to_recordset(${json(rows)}::jsonb)
        as new (org_id uuid, id uuid, epoch bigint, state text, outcome jsonb)
      join device_command command on command.org_id = new.org_id and command.id = new.id
        and command.epoch = new.epoch and command.state = 'sent'
      order by command.id for update of command
    )
    update device_command command set state = ended.state, outcome = ended.outcome, finished_at = ${at}
    from ended where command.org_id = ended.org_id and command.id = ended.id
    returning command.job_id
  `.execute(tx)
  wakeJobs(tx, ended.rows)
}

/**
 * What was in flight on the sessions, and on older ones of their devices, may have run: nobody will
 * hear its reply any more. A session that has just been opened has nothing in flight yet.
 */
export async function loseCommands(
  tx: Tx,
  sessions: readonly { readonly deviceId: string; readonly epoch: string }[],
  { at, why }: { readonly at: Date; readonly why: LossReason },
): Promise<void> {
  const rows = sessions.map(({ deviceId, epoch }) => ({ device_id: deviceId, epoch }))
  const ended = await sql<EndedCommand>`
    with lost as (
      select command.org_id, command.id
      from jsonb_to_recordset(${json(rows)}::jsonb) as session (device_id uuid, epoch bigint)
      join device_command command on command.device_id = session.device_id and command.epoch <= session.epoch
        and command.state = 'sent'
      order by command.id for update of command
    )
    update device_command command
    set state = 'unknown', outcome = ${json({ why })}::jsonb, finished_at = ${at}
    from lost where command.org_id = lost.org_id and command.id = lost.id
    returning command.job_id
  `.execute(tx)
  wakeJobs(tx, ended.rows)
}

/** A command of a person, or of the device itself, that could not be sent in time. */
export interface ExpiredCommand {
  readonly orgId: string
  readonly kind: CommandOrder['kind']
  readonly mac: string
  readonly name: string | null
  readonly siteId: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Ends queued commands that could not be sent in time, at most `limit`, the oldest first. Those of upgrades never expire. */
export async function expireCommands(
  tx: Tx,
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<ExpiredCommand[]> {
  const ended = await sql<ExpiredCommand>`
    with due as (
      select org_id, id from device_command
      where state = 'queued' and expires_at <= ${at} and job_id is null
      order by id limit ${limit} for update skip locked
    )
    update device_command command set state = 'expired', finished_at = ${at}
    from due, device
    where command.org_id = due.org_id and command.id = due.id
      and device.org_id = command.org_id and device.id = command.device_id
    returning command.org_id, command.kind, device.mac, device.name, device.site_id, command.created_at,
      command.expires_at
  `.execute(tx)
  if (ended.rows.length > 0) wakeAfterCommit(tx, 'commands')
  return ended.rows
}

/**
 * Ends what has been in flight since before `sentBeforeMs` of service time: longer than any command takes, so nobody
 * waits for it.
 */
export async function timeOutCommands(tx: Tx, sentBeforeMs: number, at: Date): Promise<void> {
  const ended = await tx
    .updateTable('deviceCommand')
    .set({ state: 'unknown', outcome: json({ why: 'timeout' }), finishedAt: at })
    .where('state', '=', 'sent')
    .where('sentMs', '<', sentBeforeMs)
    .returning('jobId')
    .execute()
  wakeJobs(tx, ended)
}

interface EndedCommand {
  readonly jobId: string | null
}

function wakeJobs(tx: Tx, ended: readonly EndedCommand[]): void {
  if (ended.length > 0) wakeAfterCommit(tx, 'commands')
  if (ended.some(({ jobId }) => jobId !== null)) wakeAfterCommit(tx, 'rollouts')
}
