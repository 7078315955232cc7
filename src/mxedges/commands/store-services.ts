import { sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { ServiceCommand } from '../sessions/decide-service-changes.ts'

/** Lists the commands that may have changed services: those in flight, and those that were sent and ended after `since`. */
export async function listServiceCommands(
  tx: Tx,
  scope: InOrg,
  { mxedgeId, since }: { readonly mxedgeId: string; readonly since: Date },
): Promise<ServiceCommand[]> {
  const rows = await tx
    .selectFrom('mxedgeCommand')
    .select([sql<string | null>`params ->> 'service'`.as('service'), 'state'])
    .where('orgId', '=', scope.orgId)
    .where('mxedgeId', '=', mxedgeId)
    .where('kind', 'in', ['service', 'upgrade_service', 'upgrade_distro'])
    .where((eb) =>
      eb.or([eb('state', '=', 'sent'), eb.and([eb('finishedAt', '>', since), eb('epoch', 'is not', null)])]),
    )
    .execute()
  return rows.map(({ service, state }) => ({ service, isDone: state === 'done' }))
}
