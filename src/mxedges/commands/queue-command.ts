import { uuidv7 } from '../../platform/uuidv7.ts'
import type { SitesScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import { titleOf } from '../mxedge.ts'
import { listSessions } from '../sessions/store.ts'
import { lockMxedge } from '../store.ts'
import type { MxedgeOrder } from './command.ts'
import { findRefusal } from './find-refusal.ts'
import { insertCommand } from './store.ts'

/** The commands that a person can request. */
export type PersonOrder = Extract<MxedgeOrder, { kind: 'service' | 'bounce_port' | 'disconnect_aps' | 'support' }>

/** A person does not expect an effect that comes later than this. */
const SEND_WITHIN_MS = 60_000

/**
 * Queues a command to the agent of an appliance, with its audit record. Its end is an event.
 * @throws AppError not_found; invalid if the appliance is not connected, or can't do it.
 */
export async function queueMxedgeCommand(
  ctx: Context,
  scope: SitesScope,
  { id, order }: { readonly id: string; readonly order: PersonOrder },
): Promise<void> {
  await inTx(ctx, async (tx) => {
    const mxedge = await lockMxedge(tx, scope, id)
    const at = ctx.clock.now()
    const [session] = await listSessions(tx, scope, [id])
    const refusal = findRefusal(mxedge, session, order)
    if (refusal !== null) throw new AppError('invalid', refusal)
    const expiresAt = addMs(at, SEND_WITHIN_MS)
    await insertCommand(tx, scope, { ...order, id: uuidv7(), mxedgeId: id, createdAt: at, expiresAt })
    const { siteId } = mxedge
    const message = `${describe(order)} of ${titleOf(mxedge)}`
    await appendAudit(tx, scope, { message, siteId, after: { ...order.params, mxedge_id: id }, at })
  })
}

function describe(order: PersonOrder): string {
  switch (order.kind) {
    case 'service':
      return `${order.params.action[0]?.toUpperCase()}${order.params.action.slice(1)} service ${order.params.service}`
    case 'bounce_port':
      return `Bounce data ports ${order.params.ports.join(', ')}`
    case 'disconnect_aps':
      return `Disconnect ${order.params.macs.length} access points`
    case 'support':
      return 'Collect support files'
  }
}
