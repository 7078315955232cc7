import { type RawBuilder, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { type Tx, anyOf } from '../../platform/database/db.ts'
import { type Param, statement } from '../../platform/database/statement.ts'

/** A restore of the backup version whose effect is known. */
export interface SettledRestore {
  readonly orgId: string
  readonly id: string
  readonly deviceId: string
  /** False: a later restore of the device is about the same return. */
  readonly isLast: boolean
  /** The answer was not received, and the device shows that it has executed the restore. */
  readonly isFound: boolean
  /** The backup version; null if the device did not report it. */
  readonly version: string | null
  /** The version that the device reported last. */
  readonly firmware: string | null
}

/** The condition of the index `device_command_unsettled_restore`: see migration 285. */
const isUnsettled = sql`command.unsettled`

/**
 * Settles the restores of the given devices that run their backup version on every member. A device that did not report
 * its backup version must have booted since. The last one is done, even if its answer was not received, unless only a boot is
 * known: a device that has lost its power boots as well, and an upgrade has to repeat its restore.
 */
export function settleCompletedRestores(tx: Tx, deviceIds: readonly string[], at: Date): Promise<SettledRestore[]> {
  return settleCompleted(tx, { deviceIds, at })
}

const settleCompleted = statement<{ readonly deviceIds: readonly string[]; readonly at: Date }, SettledRestore>(
  (param) => {
    const version = sql`command.params ->> 'version'`
    return settle(
      param('at'),
      sql`command.device_id = any(${param('deviceIds')}) and status.connected and case
        when ${version} is null then status.booted_at > command.sent_at
        else status.firmware = ${version} and not exists (
          select from jsonb_array_elements(coalesce(status.members, '[]')) member
          where member ->> 'firmware' <> ${version}) end`,
      { isDone: true },
    )
  },
)

/**
 * Settles restores whose last evidence is from before `beforeMs` of service time. Those that another transaction has locked
 * are left to the next call.
 */
export async function settleLateRestores(tx: Tx, beforeMs: number, at: Date): Promise<SettledRestore[]> {
  const which = sql`coalesce(command.progress_ms, command.sent_ms) < ${beforeMs}`
  return (await settle(at, which, { isDone: false, lockedToo: sql`skip locked` }).execute(tx)).rows
}

function settle<V>(
  at: Date | Param<V, Date>,
  which: RawBuilder<unknown>,
  { isDone, lockedToo = sql`` }: { readonly isDone: boolean; readonly lockedToo?: RawBuilder<unknown> },
): RawBuilder<SettledRestore> {
  const isShown = isDone ? sql`command.state = 'unknown' and command.params ? 'version'` : sql`false`
  const isFound = sql`(locked.is_shown and locked.is_last)`
  return sql<SettledRestore>`
    with locked as materialized (
      select command.org_id, command.id, status.firmware, ${isShown} as is_shown, not exists (
        select from device_command later
        where later.device_id = command.device_id and later.unsettled and later.id > command.id) as is_last
      from device_command command
      join device_status status on status.org_id = command.org_id and status.device_id = command.device_id
      where ${isUnsettled} and ${which}
      order by command.id for update of command ${lockedToo}
    )
    update device_command command set settled_at = ${at},
      state = case when ${isFound} then 'done' else command.state end,
      outcome = case when ${isFound} then jsonb_build_object('lost', command.outcome -> 'why') else command.outcome end
    from locked where command.org_id = locked.org_id and command.id = locked.id
    returning command.org_id, command.id, command.device_id, command.params ->> 'version' as version, locked.firmware,
      locked.is_last, ${isFound} as is_found
  `
}

/**
 * Returns the given devices that are to restore their backup version or are booting it. A second restore would boot the
 * version that the first one has left. A restore with an unknown outcome does not count, since a person may repeat it.
 */
export async function listRestoringDevices(
  tx: Tx,
  { orgId }: InOrg,
  deviceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ deviceId: string }>`
    select distinct device_id from device_command
    where org_id = ${orgId} and device_id = ${anyOf(deviceIds)} and kind = 'restore_backup'
      and (state = 'queued' or state = 'sent' or (state = 'done' and settled_at is null))
  `.execute(tx)
  return new Set(rows.map(({ deviceId }) => deviceId))
}
