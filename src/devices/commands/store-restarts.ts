import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { addMs } from '../../platform/time/clock.ts'
import { type Tx, anyOf, json } from '../../platform/database/db.ts'
import type { RestartParams } from './command.ts'

/** A device that is still on the same connection after this time has not restarted: the nodes of a cluster wait a minute. */
const REBOOT_MS = 90_000

/**
 * Returns those of the devices, which `tx` has locked, on which a person's restart of exactly this part is under way: it
 * is queued, sent, or the whole device has agreed to it and has not ended its connection yet. A second command would restart
 * the device again when it is back.
 */
export async function listRestarting(
  tx: Tx,
  { orgId }: InOrg,
  { deviceIds, part, at }: { readonly deviceIds: readonly string[]; readonly part: RestartParams; readonly at: Date },
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ deviceId: string }>`
    select distinct command.device_id from device_command command
    left join device_session session on session.device_id = command.device_id
    where command.org_id = ${orgId} and command.device_id = ${anyOf(deviceIds)} and command.kind = 'restart'
      and command.site_upgrade_id is null and command.params = ${json(part)}::jsonb
      and (command.state = 'queued' and (command.expires_at is null or command.expires_at > ${at})
        or command.state = 'sent'
        or command.params = '{}'::jsonb and command.state = 'done' and command.finished_at > ${addMs(at, -REBOOT_MS)}
          and session.connected and session.epoch = command.epoch)
  `.execute(tx)
  return new Set(rows.map(({ deviceId }) => deviceId))
}
