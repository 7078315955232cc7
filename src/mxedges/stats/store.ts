import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { FwUpdate } from '../../devices/tables.ts'
import type { Reader } from '../../platform/database/db.ts'
import { epochS } from '../../platform/time/clock.ts'
import { type NewestUpgrade, decideFwUpdate } from './decide-fwupdate.ts'

interface NewestRow extends NewestUpgrade {
  readonly mxedgeId: string
  readonly changedAt: Date
}

/**
 * Lists the progress of the newest upgrades of appliances, by the id of the appliance. An upgrade that skips an appliance says
 * nothing about it: another one may have it.
 */
export async function listFwUpdates(
  reader: Reader,
  scope: InOrg,
  ids: readonly string[],
): Promise<Map<string, FwUpdate>> {
  // The ids of upgrades rise with time. Each appliance has its own look at the index.
  const { rows } = await sql<NewestRow>`
    select target.mxedge_id, target.state, jsonb_array_length(target.steps) as steps, target.step, target.staged,
      target.attempt, target.failed_attempts, case when command.state = 'sent' then command.progress end as progress,
      (select count(*)::integer from mxedge_upgrade_target former
        where former.org_id = ${scope.orgId} and former.mxedge_id = target.mxedge_id and former.state <> 'skipped') as upgrades,
      coalesce(command.finished_at, command.progressed_at, command.sent_at, upgrade.created_at) as changed_at
    from unnest(${ids}::uuid[]) as wanted (id)
    cross join lateral (
      select * from mxedge_upgrade_target
      where org_id = ${scope.orgId} and mxedge_id = wanted.id and state <> 'skipped' order by upgrade_id desc limit 1) target
    join mxedge_upgrade upgrade on upgrade.org_id = ${scope.orgId} and upgrade.id = target.upgrade_id
    left join mxedge_command command on command.org_id = ${scope.orgId} and command.id = target.command_id
  `.execute(reader)
  return new Map(
    rows.flatMap((row): [string, FwUpdate][] => {
      const shown = decideFwUpdate(row)
      return shown === null ? [] : [[row.mxedgeId, { ...shown, timestamp: epochS(row.changedAt) }]]
    }),
  )
}
