import { isDeepStrictEqual } from 'node:util'
import type { InOrg } from '../../access/scope.ts'
import type { Context } from '../../platform/context.ts'
import { type AppError, invalidField } from '../../platform/errors.ts'
import { findPreviewRequest, isStarted } from './store.ts'

/** The part of a body that is about plans. */
interface PlanFields {
  readonly plan_id?: string
  readonly dry_run?: boolean
}

/**
 * Completes the body of a request that names a plan by that of the preview: a client may send only the id. Other fields
 * must be the same as in the preview.
 *
 * @param origin The operation, and the site or the device that it is for; see UpgradePreviewTable.
 * @returns The body itself if it names no plan.
 * @throws AppError invalid naming the field.
 */
export async function findRequest<B extends PlanFields>(
  ctx: Context,
  scope: InOrg,
  { body, origin }: { readonly body: B; readonly origin: string },
): Promise<B> {
  const { plan_id: id } = body
  if (id === undefined) return body
  if (body.dry_run === true) throw invalidField('plan_id', "can't be given with dry_run, which makes a new plan")
  const plan = await findPreviewRequest(ctx.db, scope, { id, now: ctx.clock.now() })
  if (plan === undefined) throw noSuchPlan(await isStarted(ctx.db, scope, id))
  if (plan.origin !== origin) throw invalidField('plan_id', 'is the plan of another operation, site or device')
  const { plan_id: _id, dry_run: _run, ...sent } = body
  for (const [field, value] of Object.entries(sent)) {
    if (!isDeepStrictEqual(value, plan.body[field]))
      throw invalidField(field, 'differs from the request of the plan; omit it to use the planned value')
  }
  // The plan's body has passed the same schema.
  return { ...plan.body, plan_id: id } as unknown as B
}

export function noSuchPlan(started: boolean): AppError {
  return started
    ? invalidField('plan_id', 'was started already: the upgrade has this id')
    : invalidField('plan_id', 'names no plan: it has expired or never existed')
}
