import { type RawBuilder, sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'
import { columnsOf, rowsAs } from '../../platform/database/rows.ts'
import type { RestartParams } from './command.ts'

/** SQL condition on a command: it restarts one member or node, which was sent the request, and may not be back yet. */
export function awaitsPart(command: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${command}.kind = 'restart' and ${command}.progress ->> 'step' in ('restart', 'return'), false)`
}

/** A restart of a member or node that may not be back yet. */
export interface AwaitedRestart {
  readonly deviceId: string
  readonly callId: number
  readonly params: RestartParams
  /** How long the part had been up before; null if the device did not report it. */
  readonly uptimeS: number | null
  /** Service time of the last step of the command. */
  readonly progressMs: number
}

const idColumns = columnsOf('deviceSession', { deviceId: 'uuid' })

/** Lists the restarts of parts of the devices that may not be back yet. */
export async function listAwaitedRestarts(reader: Reader, deviceIds: readonly string[]): Promise<AwaitedRestart[]> {
  const devices = deviceIds.map((deviceId) => ({ deviceId }))
  const { rows } = await sql<AwaitedRestart>`
    select command.device_id, command.call_id, command.params, (command.progress ->> 'uptime_s')::float8 as uptime_s,
      command.progress_ms
    from ${rowsAs('session', idColumns, devices)}
    join device_command command on command.device_id = session.device_id and command.pending = 'sent'
    where ${awaitsPart(sql`command`)}
    order by command.id
  `.execute(reader)
  return rows
}
