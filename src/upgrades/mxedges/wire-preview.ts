import { type Static, Type } from 'typebox'
import { ErrorReply, Timestamp, Uuid, named } from '../../http/schemas.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { MxedgePreview } from './plan-preview.ts'
import { nameField, presentName } from '../wire-extensions.ts'
import { StepReply, presentStep } from './wire.ts'

export const MxedgePreviewReply = named(
  'MxedgeUpgradePreview',
  Type.Object({
    plan_id: Uuid,
    expires_at: Type.Number({ description: 'until when an upgrade may name the plan by `plan_id`' }),
    ...nameField,
    start_time: Type.Integer(),
    total: Type.Integer({ description: 'edge appliances that would be upgraded' }),
    phases: Type.Array(
      Type.Object({
        percent: Type.Integer({ description: 'cumulative' }),
        total: Type.Integer(),
        stops_after_failures: Type.Optional(
          Type.Integer({ description: 'the number of failures in the phase that stops the upgrade' }),
        ),
        begins_about: Type.Optional(
          Type.Integer({ description: 'an estimate: when its first edge appliance begins; missing: it has none' }),
        ),
        mxedges: Type.Array(Type.Object({ mxedge_id: Uuid, steps: Type.Array(StepReply) }), {
          description: 'in the order in which they are upgraded',
        }),
      }),
    ),
    skipped: Type.Array(Type.Object({ mxedge_id: Uuid, reason: Type.String() })),
    stops_after_failures: Type.Union([Type.Integer(), Type.Null()], {
      description: 'the number of failures that stops the upgrade; null: none does',
    }),
    ends_about: Type.Union([Timestamp, Type.Null()], {
      description: 'an estimate, where every edge appliance is present and healthy; null: there is nothing to do',
    }),
    notes: Type.Array(Type.Object({ mxedge_id: Type.Optional(Uuid), reason: Type.String() })),
  }),
)

/** The 409 of a plan that no longer fits. */
export const MxedgePlanOutdatedReply = named(
  'MxedgeUpgradePlanOutdated',
  Type.Object({
    ...ErrorReply.properties,
    differences: Type.Array(Type.Object({ mxedge_id: Type.Optional(Uuid), reason: Type.String() }), {
      description: 'the changes since the preview; the first 100',
    }),
    total: Type.Integer({ description: 'how many differences there are' }),
  }),
)

/** @param name That of the request, if it has one. */
export function presentMxedgePreview(
  preview: MxedgePreview,
  { name = null }: { readonly name?: string | null },
): Static<typeof MxedgePreviewReply> {
  const { planId, expiresAt, startAt, total, phases, skipped, stopsAfterFailures, endsAbout, notes } = preview
  return {
    plan_id: planId,
    expires_at: epochS(expiresAt),
    ...presentName(name),
    start_time: Math.floor(epochS(startAt)),
    total,
    phases: phases.map(presentPhase),
    skipped: skipped.map(({ mxedgeId, reason }) => ({ mxedge_id: mxedgeId, reason })),
    stops_after_failures: stopsAfterFailures,
    ends_about: endsAbout && Math.floor(epochS(endsAbout)),
    notes: [...notes],
  }
}

function presentPhase({ percent, stopsAfterFailures, beginsAbout, appliances }: MxedgePreview['phases'][number]) {
  return {
    percent,
    total: appliances.length,
    ...(stopsAfterFailures !== null && { stops_after_failures: stopsAfterFailures }),
    ...(beginsAbout !== null && { begins_about: Math.floor(epochS(beginsAbout)) }),
    mxedges: appliances.map(({ id, steps }) => {
      return { mxedge_id: id, steps: steps.map((step) => presentStep(step, false)) }
    }),
  }
}
