import { type Static, Type } from 'typebox'
import { Uuid } from '../../http/schemas.ts'
import type { MxedgeUpgradeDetail } from '../../mxedges/upgrades/store-records.ts'
import { GateReply, presentGate, presentStartGate } from '../reports/wire-gates.ts'

/** What an upgrade waits for, and the person whose own approval may not count. */
export const gateFields = {
  creator: Type.Optional(
    Type.Object(
      { admin_id: Uuid, name: Type.String() },
      { description: 'the person who created the upgrade, or changed it last; missing: a program did' },
    ),
  ),
  start_gate: Type.Optional(GateReply),
  gates: Type.Optional(
    Type.Array(Type.Object({ phase: Type.Integer(), gate: GateReply }), {
      description: 'what the phases with edge appliances have to meet',
    }),
  ),
}

const Gates = Type.Object(gateFields)

export function presentGates(upgrade: MxedgeUpgradeDetail): Static<typeof Gates> {
  const { plan, approvals, currentPhase: openPhase, adminId, creatorName } = upgrade
  const startGate = presentStartGate({ startGate: plan.start_gate ?? null, approvals })
  const gates = plan.phase_sizes.flatMap((size, index) => {
    const phase = index + 1
    const gate = presentGate({ gates: plan.gates, approvals, phase, openPhase })
    return gate === null || (size === 0 && plan.gates?.[index]?.emptied !== true) ? [] : [{ phase, gate }]
  })
  return {
    ...(adminId !== null && creatorName !== null && { creator: { admin_id: adminId, name: creatorName } }),
    ...(startGate !== null && { start_gate: startGate }),
    ...(gates.length > 0 && { gates }),
  }
}
