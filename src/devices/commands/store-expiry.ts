import { sql } from 'kysely'
import type { Tx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import type { CommandOrder } from './command.ts'
import { paramsOfCommand } from './store.ts'

/** A command of a person, or of the device itself, that could not be sent in time. */
export interface ExpiredCommand {
  readonly orgId: string
  readonly kind: CommandOrder['kind']
  readonly params: Readonly<Record<string, unknown>>
  readonly mac: string
  readonly name: string | null
  readonly siteId: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

/**
 * Ends queued commands that could not be sent in time, at most `limit`, the oldest first. Commands of upgrades never
 * expire.
 */
export async function expireCommands(
  tx: Tx,
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<ExpiredCommand[]> {
  const ended = await sql<ExpiredCommand>`
    with due as (
      select org_id, id from device_command
      where pending = 'queued' and expires_at <= ${at} and site_upgrade_id is null
      order by id limit ${limit} for update skip locked
    )
    update device_command command set state = 'expired', finished_at = ${at}
    from due, device
    where command.org_id = due.org_id and command.id = due.id
      and device.org_id = command.org_id and device.id = command.device_id
    returning command.org_id, command.kind, ${paramsOfCommand} as params, device.mac, device.name, device.site_id,
      command.created_at, command.expires_at
  `.execute(tx)
  if (ended.rows.length > 0) wakeAfterCommit(tx, 'commands')
  return ended.rows
}
