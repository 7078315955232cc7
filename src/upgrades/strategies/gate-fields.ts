import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { invalidField } from '../../platform/errors.ts'
import type { PhaseGate, PhaseScope } from '../../rollout/rollout.ts'

/** What phases wait for besides the success of their devices. Signalbox's own field. */
export const gateField = Type.Optional(
  Type.Array(
    named(
      'UpgradePhaseGate',
      Type.Object({
        phase: Type.Integer({ minimum: 1, maximum: 100, description: 'The next phase waits once this one has ended' }),
        wait_for: Type.Union([Type.Literal('approval'), Type.Literal('pause')], {
          description: 'approval: until somebody approves the phase; pause: until somebody resumes the upgrade',
        }),
      }),
    ),
    { maxItems: 100 },
  ),
)

/** @returns By phase. @throws AppError invalid naming the gate that can't be. */
export function parseGates(
  gates: Static<typeof gateField> = [],
  { phases, scope }: { readonly phases: number; readonly scope: PhaseScope },
): ReadonlyMap<number, Pick<PhaseGate, 'wait_for'>> {
  if (gates.length > 0 && scope === 'site')
    throw invalidField(
      'phase_gates',
      'is given with the phase_scope site, but only phases of the whole upgrade can wait',
    )
  const waits = new Map<number, Pick<PhaseGate, 'wait_for'>>()
  for (const [index, { phase, wait_for }] of gates.entries()) {
    const field = `phase_gates.${index}.phase`
    if (phase >= phases)
      throw invalidField(
        field,
        `is ${phase}, but must be less than ${phases}, the last phase, after which nothing waits`,
      )
    if (waits.has(phase)) throw invalidField(field, `is ${phase}, which another one of phase_gates is about`)
    waits.set(phase, { wait_for })
  }
  return waits
}
