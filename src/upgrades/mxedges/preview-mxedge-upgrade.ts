import { uuidv7 } from '../../platform/uuidv7.ts'
import type { PlaceScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/database/db.ts'
import type { PreviewOrigin } from '../previews/preview-upgrade.ts'
import { insertPreview } from '../previews/store.ts'
import { planAtPlace } from './create-mxedge-upgrade.ts'
import { type MxedgePreview, encodeMxedgePlan, planMxedgePreview } from './plan-preview.ts'
import type { MxedgeUpgradeRequest } from './request.ts'

/**
 * Plans an upgrade as createMxedgeUpgrade() does, and stores the plan instead of the upgrade. Nothing is started, and no
 * appliance is reserved.
 * @throws AppError invalid, as createMxedgeUpgrade() does.
 */
export function previewMxedgeUpgrade(
  ctx: Context,
  scope: PlaceScope,
  { request, origin, body }: PreviewOrigin & { readonly request: MxedgeUpgradeRequest },
): Promise<MxedgePreview> {
  const now = ctx.clock.now()
  return inTx(ctx, async (tx) => {
    const { upgrade } = await planAtPlace(tx, scope, { id: uuidv7(), request, now, nowMs: ctx.serviceClock.nowMs() })
    const preview = planMxedgePreview(upgrade, { percents: request.phasing.percents, now })
    const { planId: id, expiresAt } = preview
    const { dry_run: _, ...sent } = body
    const plan = encodeMxedgePlan(upgrade)
    await insertPreview(tx, scope, { id, origin, body: sent, plan, createdAt: now, expiresAt })
    return preview
  })
}
