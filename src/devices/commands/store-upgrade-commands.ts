import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Reader, Tx } from '../../platform/database/db.ts'
import { type RowOf, columnsOf, namesOf, rowsAs } from '../../platform/database/rows.ts'
import { splitRows } from '../../platform/database/split.ts'
import { statement } from '../../platform/database/statement.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { CommandCarrier, NewCommand } from './command.ts'
import { type CommandToSend, inFlightOn, newColumns, newTypes, paramsColumns, sentColumns } from './store.ts'

export type UpgradeCommand = NewCommand & {
  /** Null: the command is queued. */
  readonly carrier: CommandCarrier | null
}

const upgradeColumns = columnsOf('deviceCommand', newTypes, { carrierEpoch: 'bigint' })

interface InsertValues {
  readonly rows: readonly RowOf<typeof upgradeColumns>[]
  readonly at: Date
  readonly atMs: number
}

interface InsertedCommand {
  readonly id: string
  /** Null if the command is queued. */
  readonly callId: number | null
}

// The key is looked up instead of `on conflict`, with which PostgreSQL writes each row in two steps. The caller has locked the
// site upgrade, so that no other transaction queues its commands. PostgreSQL may read all open commands once for `exists`, but not
// for a subquery with a limit.
const insertUnlessKnown = statement<InsertValues, InsertedCommand>(
  (param) => sql`
    insert into device_command (${namesOf(newColumns)}, state, epoch, sent_at, sent_ms, call_id)
    select ${namesOf(newColumns)}, case when is_sent then 'sent' else 'queued' end, case when is_sent then carrier_epoch end,
      case when is_sent then ${param('at')}::timestamptz end, case when is_sent then ${param('atMs')}::float8 end,
      case when is_sent then nextval('device_call_id')::integer end
    from (
      select new.*, new.carrier_epoch is not null
        and (select true from device_command q where q.device_id = new.device_id and q.pending = 'queued' limit 1) is null
        and (select true from ${inFlightOn(sql`new.device_id`)} s limit 1) is null as is_sent
      from ${rowsAs('new', upgradeColumns, param('rows'))} offset 0) new
    where not exists (
      select from device_command known
      where known.device_id = new.device_id and known.site_upgrade_id = new.site_upgrade_id and known.kind = new.kind
        and known.attempt = new.attempt)
    returning id, call_id
  `,
)

/**
 * Inserts commands of upgrades: as sent if the command has a carrier and its device has no other open command, and
 * otherwise as queued. The gateway gets those that are sent with the wake that follows the commit. A command that its site
 * upgrade has already (same device, kind and attempt) is not changed.
 */
export async function insertUpgradeCommands(
  tx: Tx,
  { orgId }: InOrg,
  commands: readonly UpgradeCommand[],
  { at, atMs }: Pick<InsertValues, 'at' | 'atMs'>,
): Promise<void> {
  if (commands.length === 0) return
  const rows = commands.map((command) => rowOf(orgId, command))
  const callIds = new Map<string, number | null>()
  for (const part of splitRows(rows))
    for (const { id, callId } of await insertUnlessKnown(tx, { rows: part, at, atMs })) callIds.set(id, callId)
  const sent = commands.flatMap((command) => sentOf(orgId, command, callIds.get(command.id) ?? null))
  if (sent.length > 0)
    wakeAfterCommit(
      tx,
      'sent_commands',
      sent.map(({ deviceId }) => deviceId),
      sent,
    )
  if (sent.length < callIds.size) wakeAfterCommit(tx, 'commands')
}

/** Names each member: copying thousands of commands with `...` takes longer than the rest of what is done with them here. */
function rowOf(orgId: string, command: UpgradeCommand): RowOf<typeof upgradeColumns> {
  const { id, deviceId, siteId, siteUpgradeId, kind, attempt, createdAt, expiresAt, carrier } = command
  const { params, imageId, version } = paramsColumns(command)
  return {
    orgId,
    id,
    deviceId,
    siteId,
    siteUpgradeId,
    kind,
    attempt,
    params,
    imageId,
    version,
    createdAt,
    expiresAt,
    carrierEpoch: carrier?.epoch ?? null,
  }
}

function sentOf(orgId: string, command: UpgradeCommand, callId: number | null): CommandToSend[] {
  const { carrier, id, deviceId, kind, params } = command
  if (carrier === null || callId === null) return []
  const { epoch, mac, type, capabilities } = carrier
  // The compiler doesn't see that the kind still belongs to its parameters.
  return [{ orgId, id, deviceId, kind, params, callId, epoch, mac, type, capabilities } as CommandToSend]
}

/** Lists the commands of upgrades that are in flight on the present sessions of the devices, and have made no progress. */
export async function listUpgradesInFlight(reader: Reader, deviceIds: readonly string[]): Promise<CommandToSend[]> {
  const { rows } = await sql<CommandToSend>`
    select ${sentColumns}
    from unnest(${deviceIds}::uuid[]) as wanted (id)
    join device_session session on session.device_id = wanted.id and session.connected
    join device_command command on command.device_id = wanted.id and command.state = 'sent'
      and command.epoch = session.epoch and command.site_upgrade_id is not null and command.progress is null
    join device on device.org_id = command.org_id and device.id = command.device_id
    join device_status status on status.org_id = command.org_id and status.device_id = command.device_id
  `.execute(reader)
  return rows
}
