import { uuidv7 } from '../../platform/uuidv7.ts'
import type { InOrg } from '../../access/scope.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Tx } from '../../platform/database/db.ts'
import type { Mxedge } from '../mxedge.ts'
import { configurationOf, configurationSha256 } from './configuration.ts'
import { cancelQueued } from './store-cancel.ts'
import { insertCommand } from './store.ts'

/** An appliance that is away longer than this gets its configuration when it connects. */
const SEND_WITHIN_MS = 600_000

/** Queues the configuration of a locked appliance, unless it has applied just that. */
export async function queueConfiguration(
  tx: Tx,
  scope: InOrg,
  { mxedge, appliedSha256, at }: { readonly mxedge: Mxedge; readonly appliedSha256: string | null; readonly at: Date },
): Promise<void> {
  await cancelQueued(tx, scope, { mxedgeId: mxedge.id, kind: 'configure', at })
  if (configurationSha256(configurationOf(mxedge)) === appliedSha256) return
  await insertCommand(tx, scope, {
    kind: 'configure',
    params: {},
    id: uuidv7(),
    mxedgeId: mxedge.id,
    createdAt: at,
    expiresAt: addMs(at, SEND_WITHIN_MS),
  })
}
