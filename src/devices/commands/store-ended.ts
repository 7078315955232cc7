import { type RawBuilder, sql } from 'kysely'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Tx, json } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, rowsAs } from '../../platform/database/rows.ts'
import { statement } from '../../platform/database/statement.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { CommandKind, CommandState } from '../tables.ts'
import type { CommandOutcome, LossReason } from './command.ts'
import { awaitsPart } from './store-awaited.ts'
import { inFlightOn, isUnanswered, lockByKey } from './store.ts'

/** The columns of an EndedCommand, of `command`. */
const endColumns = sql`command.org_id, command.id, command.kind, command.params, command.state, command.outcome,
  command.site_upgrade_id, command.device_id, exists(
    select from device_command queued where queued.device_id = command.device_id and queued.pending = 'queued') as is_followed`

/** The outcome of a command that was sent by the call. */
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
 * Writes outcomes. An outcome for another call, or for a command that has ended already, is stale and is not written;
 * but the outcome that a device reports replaces the loss of its connection, which remains as `lost`.
 */
export async function finishCommands(
  tx: Tx,
  finished: readonly FinishedCommand[],
  at: Date,
): Promise<readonly EndedCommand[]> {
  const rows = finished.map(({ outcome: { kind, ...outcome }, ...call }) => ({ ...call, state: kind, outcome }))
  const ended = await updateFinished(tx, { rows, at })
  wakeListeners(tx, ended)
  return ended
}

interface FinishedRows {
  readonly rows: readonly RowOf<typeof endedColumns>[]
  readonly at: Date
}

function isEndedBy(ended: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`command.call_id = ${ended}.call_id
    and (command.state = 'sent' or ${ended}.state <> 'unknown' and ${isUnanswered})`
}

// A row that is found first, and not locked, may have changed when it is updated. The rows are updated in the order of their ids.
const updateFinished = statement<FinishedRows, EndedCommand>(
  (param) => sql`
    with known as materialized (
      select ended.* from (select * from ${rowsAs('ended', endedColumns, param('rows'))} order by id) ended
      cross join lateral (
        select * from device_command where org_id = ended.org_id and id = ended.id limit 1) command
      where ${isEndedBy(sql`ended`)}
    )
    update device_command command set state = known.state, finished_at = ${param('at')},
      outcome = known.outcome || case when command.state = 'unknown'
        then jsonb_build_object('lost', command.outcome -> 'why') else '{}' end
    from known where command.org_id = known.org_id and command.id = known.id and ${isEndedBy(sql`known`)}
    returning ${endColumns}
  `,
)

const sessionColumns = columnsOf('deviceSession', { deviceId: 'uuid', epoch: 'bigint' })

/**
 * Ends the commands in flight on the sessions, and on older ones of their devices, with an unknown outcome: they may
 * have been executed, but no reply can arrive any more. A part that restarts is awaited on the next session. A session that has just been opened has nothing in flight yet.
 * A command may be sent while its session ends, after `at`.
 */
export async function markCommandsLost(
  tx: Tx,
  sessions: readonly { readonly deviceId: string; readonly epoch: string }[],
  { at, why }: { readonly at: Date; readonly why: LossReason },
): Promise<readonly EndedCommand[]> {
  const ended = await updateLost(tx, { sessions, at, outcome: json({ why }) })
  wakeListeners(tx, ended)
  return ended
}

interface LostSessions {
  readonly sessions: readonly { readonly deviceId: string; readonly epoch: string }[]
  readonly at: Date
  /** A document. */
  readonly outcome: string
}

const updateLost = statement<LostSessions, EndedCommand>(
  (param) => sql`
    with locked as materialized (
      select command.org_id, command.id
      from (
        select sent.*, session.epoch as last_epoch
        from ${rowsAs('session', sessionColumns, param('sessions'))}
        cross join lateral (
          select org_id, id from ${inFlightOn(sql`session.device_id`)} command
          where epoch <= session.epoch and not ${awaitsPart(sql`command`)} offset 0) sent
        order by sent.id) sent
      cross join lateral ${lockByKey(sql`sent`)} command
      where command.state = 'sent' and command.epoch <= sent.last_epoch and not ${awaitsPart(sql`command`)}
    )
    update device_command command
    set state = 'unknown', outcome = ${param('outcome')}::jsonb, finished_at = greatest(${param('at')}, command.sent_at)
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning ${endColumns}
  `,
)

/**
 * Ends commands of people in flight since before `sentBeforeMs` of service time, which is longer than any command takes, and
 * restarts of parts that are away since before `awayBeforeMs`, which is later. Those that another transaction has locked are
 * left to the next sweep.
 */
export async function timeOutCommands(
  tx: Tx,
  { sentBeforeMs, awayBeforeMs }: { readonly sentBeforeMs: number; readonly awayBeforeMs: number },
  at: Date,
): Promise<readonly EndedCommand[]> {
  const isForgotten = sql`command.pending = 'sent' and command.sent_ms < ${awayBeforeMs}
    and (coalesce(command.progress_ms, command.sent_ms) < ${sentBeforeMs}
      or command.progress_ms < ${awayBeforeMs} and ${awaitsPart(sql`command`)})`
  return endForgotten(tx, isForgotten, at)
}

/** Does the same as timeOutCommands() for commands of upgrades, which no index has: it reads all commands. */
export async function timeOutUpgradeCommands(tx: Tx, sentBeforeMs: number, at: Date): Promise<readonly EndedCommand[]> {
  const isForgotten = sql`command.site_upgrade_id is not null and command.state = 'sent'
    and coalesce(command.progress_ms, command.sent_ms) < ${sentBeforeMs}`
  return endForgotten(tx, isForgotten, at)
}

async function endForgotten(tx: Tx, isForgotten: RawBuilder<unknown>, at: Date): Promise<readonly EndedCommand[]> {
  const ended = await sql<EndedCommand>`
    with locked as materialized (
      select command.org_id, command.id from device_command command where ${isForgotten}
      order by command.id for update of command skip locked
    )
    update device_command command
    set state = 'unknown', outcome = ${json({ why: 'timeout' })}::jsonb, finished_at = ${at}
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning ${endColumns}
  `.execute(tx)
  wakeListeners(tx, ended.rows)
  return ended.rows
}

/** A command that has just ended. */
export interface EndedCommand {
  readonly orgId: string
  readonly id: string
  readonly kind: CommandKind
  /** Null: it has those of an upgrade. */
  readonly params: Readonly<Record<string, unknown>> | null
  readonly state: CommandState
  readonly outcome: Readonly<Record<string, unknown>> | null
  readonly siteUpgradeId: string | null
  readonly deviceId: string
  /** True if another command of the device is queued. */
  readonly isFollowed: boolean
}

function wakeListeners(tx: Tx, ended: readonly EndedCommand[]): void {
  noteChanges(tx, 'command_end', ended)
  // A claim that finds nothing would delay the next one. One that is queued at this moment wakes the dispatcher itself; if it
  // does so before this commits, it waits for the dispatcher's interval.
  if (ended.some(({ isFollowed }) => isFollowed)) wakeAfterCommit(tx, 'commands')
  const ofUpgrades = ended.filter(({ siteUpgradeId }) => siteUpgradeId !== null)
  if (ofUpgrades.length === 0) return
  wakeAfterCommit(
    tx,
    'rollouts',
    ofUpgrades.map(({ deviceId }) => deviceId),
  )
}
