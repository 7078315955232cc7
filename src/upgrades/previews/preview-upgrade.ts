import type { SitesScope } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { inTurns } from '../../platform/queues/next-turn.ts'
import { listTakeable } from '../../rollout/changes/store-takeover.ts'
import { inUpgradeTx } from '../creation/in-upgrade-tx.ts'
import type { UpgradeRequest } from '../org-upgrade.ts'
import { planPhasing } from '../planning/plan-downloads.ts'
import { planUpgradeInSteps } from '../planning/plan-upgrade.ts'
import { listHolders } from '../creation/list-holders.ts'
import { listDiverted, listUpgraded, prepareUpgrade } from '../creation/prepare-upgrade.ts'
import { encodePlanInSteps } from './encode-plan.ts'
import { planPreviewInSteps } from './plan-preview.ts'
import type { UpgradePreview } from './preview.ts'
import { insertPreview } from './store.ts'

/** The request of a preview as it was sent. */
export interface PreviewOrigin {
  /** The operation, and the site or the device that it is for: a plan is carried out only there. */
  readonly origin: string
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * Plans an upgrade as createUpgrade() does, and stores the plan instead of the upgrade. Nothing is started, and no device
 * is reserved.
 * @throws AppError invalid, as createUpgrade() does.
 */
export async function previewUpgrade(
  ctx: Context,
  scope: SitesScope,
  wanted: PreviewOrigin & { readonly request: UpgradeRequest },
): Promise<UpgradePreview> {
  return inUpgradeTx(ctx, scope, (tx) => insertPlan(ctx, tx, scope, wanted))
}

async function insertPlan(
  ctx: Context,
  tx: Tx,
  scope: SitesScope,
  { request, origin, body }: PreviewOrigin & { readonly request: UpgradeRequest },
): Promise<UpgradePreview> {
  const prepared = await prepareUpgrade(ctx, tx, scope, request)
  const wanted = [...listUpgraded(prepared.plans), ...(await listDiverted(tx, scope, prepared.plans))]
  const busy = await listHolders(tx, scope, wanted)
  const taken = request.supersede ? await listTakeable(tx, scope, wanted) : []
  for (const { deviceId } of taken) busy.delete(deviceId)
  const upgrade = await inTurns(planUpgradeInSteps(request, { ...prepared, busy, taken }))
  const facts = {
    devices: prepared.candidates,
    phasing: planPhasing(request, prepared.plans),
    startGate: request.startGate,
    endsAt: request.endsAt,
  }
  const preview = await inTurns(planPreviewInSteps(upgrade, facts))
  const { planId: id, expiresAt } = preview
  const { dry_run: _, ...sent } = body
  await insertPreview(tx, scope, {
    ...{ id, origin, expiresAt },
    body: sent,
    plan: await inTurns(encodePlanInSteps(upgrade)),
    createdAt: prepared.now,
  })
  return preview
}
