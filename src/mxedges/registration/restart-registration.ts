import type { OrgScope } from '../../access/scope.ts'
import { newClaimCode } from '../../devices/device.ts'
import { epochS } from '../../platform/time/clock.ts'
import { shareOrg } from '../../orgs/store.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { cancelAllQueued } from '../commands/store-cancel.ts'
import { type Mxedge, titleOf } from '../mxedge.ts'
import { recordChange } from '../record-change.ts'
import { lockMxedge, renewRegistration } from '../store.ts'

/**
 * Cancels the registration of the present appliance so that another can replace it: its code and its credentials become
 * invalid. Source: spec, "Edge appliances", 13.
 * @throws AppError not_found.
 */
export async function restartRegistration(ctx: Context, scope: OrgScope, id: string): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await shareOrg(tx, scope)
    const mxedge = await lockMxedge(tx, scope, id)
    await renewRegistration(tx, scope, { id, code: newClaimCode(), at })
    await cancelAllQueued(tx, scope, { mxedgeId: id, at })
    // The gateway closes the session of the present appliance.
    wakeAfterCommit(tx, 'mxedge_registrations')
    await recordChange(tx, scope, {
      mxedge,
      message: `Restart the registration of ${titleOf(mxedge)}`,
      text: 'Registration restarted',
      before: registrationOf(mxedge),
      after: registrationOf({ registrationEpoch: mxedge.registrationEpoch + 1, registeredAt: null }),
      at,
    })
  })
}

function registrationOf({ registrationEpoch, registeredAt }: Pick<Mxedge, 'registrationEpoch' | 'registeredAt'>) {
  return {
    registration_epoch: registrationEpoch,
    mxagent_registered: registeredAt !== null,
    ...(registeredAt !== null && { registered_at: epochS(registeredAt) }),
  }
}
