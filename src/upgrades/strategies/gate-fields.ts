import { type Static, Type } from 'typebox'
import { named } from '../../http/schemas.ts'
import { parseCallable } from '../../platform/assert-callable.ts'
import { invalidField } from '../../platform/errors.ts'
import { MAX_EPOCH_S } from '../../platform/time/clock.ts'
import { type GateWait, type PhaseGate, type PhaseScope, START_PHASE, type StartGate } from '../../rollout/rollout.ts'

/** The kind of phase, if the downloads have separate phases. */
export const PhaseKind = Type.Enum(['downloads', 'reboots'], {
  description: 'By default the phases of the reboots, unless only the downloads have any',
})
export type PhaseKind = Static<typeof PhaseKind>

const gate = {
  phase: Type.Integer({
    minimum: START_PHASE,
    maximum: 100,
    description:
      'The next phase waits once this one has ended; 0: the first one waits for an approval, with any strategy',
  }),
  phase_of: Type.Optional(PhaseKind),
  wait_for: Type.Enum(['approval', 'check', 'pause', 'time'], {
    description:
      'approval: until somebody approves the phase; pause: until somebody resumes the upgrade; check: until the answer of url; time: for minutes, until not_before, or until somebody resumes the upgrade',
  }),
  minutes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 43_200,
      description: 'For time. How long the next phase waits; time in which the service is down does not count',
    }),
  ),
  not_before: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_EPOCH_S,
      description:
        'For a time, an approval or a check, in seconds since 1970. The next phase does not begin before it; a check is not called before it',
    }),
  ),
  url: Type.Optional(Type.String({ minLength: 1, maxLength: 2000, description: 'For a check' })),
  prevent_self_approval: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'For an approval. true: a person other than the one who created the upgrade must give it',
    }),
  ),
  approvals: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 5,
      default: 1,
      description: 'For an approval. How many different people must give it',
    }),
  ),
}

/** The conditions of phases besides the success of their devices. Signalbox's own field. */
export const gateField = Type.Optional(Type.Array(named('UpgradePhaseGate', Type.Object(gate)), { maxItems: 100 }))

/** The gates of a request in answers, whose objects are not closed. */
export const requestedGates = Type.Optional(Type.Array(named('UpgradeRequestedGate', Type.Object(gate))))

type Gate = NonNullable<Static<typeof gateField>>[number]
type Wait = Pick<PhaseGate, 'wait_for' | 'minutes' | 'not_before_s' | 'url' | 'prevent_self_approval' | 'approvals'>

interface GatedPhases {
  /** Gates of other phases are left out. */
  readonly of: PhaseKind
  readonly phases: number
  readonly scope: PhaseScope
}

/** @returns By phase. @throws AppError invalid naming the impossible gate. */
export function parseGates(
  gates: Static<typeof gateField> = [],
  { of, phases, scope }: GatedPhases,
): ReadonlyMap<number, Wait> {
  const meant = [...gates.entries()].filter(
    ([, gate]) => gate.phase !== START_PHASE && (gate.phase_of ?? 'reboots') === of,
  )
  if (meant.length > 0 && scope === 'site')
    throw invalidField(
      'phase_gates',
      'is given with the phase_scope site, but only phases of the whole upgrade can wait',
    )
  const waits = new Map<number, Wait>()
  for (const [index, gate] of meant) {
    const { phase, wait_for, url } = gate
    const field = `phase_gates.${index}.phase`
    if (phase >= phases)
      throw invalidField(
        field,
        `is ${phase}, but must be less than ${phases}, the last phase, after which nothing waits`,
      )
    if (waits.has(phase)) throw invalidField(field, `is ${phase}, which another gate of phase_gates already has`)
    waits.set(phase, {
      wait_for,
      ...parseUrl(`phase_gates.${index}.url`, wait_for, url),
      ...parseTime(`phase_gates.${index}`, gate),
      ...parseApprovers(`phase_gates.${index}`, gate),
    })
  }
  refuseReversed(meant)
  return waits
}

/** @throws AppError invalid for a strategy whose phases can't wait: a gate without effect would let them begin. */
export function refuseUngated({ name, fields }: { readonly name: string; readonly fields: object }): void {
  if (!Object.hasOwn(fields, 'phase_gates'))
    throw invalidField('phase_gates', `is given with the strategy ${name}, but only the phases of canary can wait`)
}

/** Returns the gate before the first phase; null: there is none. @throws AppError invalid naming the impossible gate. */
export function parseStartGate(gates: Static<typeof gateField> = []): StartGate | null {
  const [found, other] = [...gates.entries()].filter(([, { phase }]) => phase === START_PHASE)
  if (found === undefined) return null
  const [index, gate] = found
  const { wait_for: waitFor, phase_of: of, url } = gate
  const field = `phase_gates.${index}`
  if (other !== undefined)
    throw invalidField(`phase_gates.${other[0]}.phase`, 'is 0, which another gate of phase_gates already has')
  if (waitFor !== 'approval')
    throw invalidField(`${field}.wait_for`, `is ${waitFor}, but phase 0, the start, can wait for an approval only`)
  if (of !== undefined)
    throw invalidField(
      `${field}.phase_of`,
      `is given with phase 0, the start, which is neither of downloads nor of reboots`,
    )
  parseUrl(`${field}.url`, waitFor, url)
  const { not_before: notBefore, ...untimed } = gate
  parseTime(field, untimed)
  if (notBefore !== undefined)
    throw invalidField(`${field}.not_before`, 'is given with phase 0, the start, whose time is start_time')
  return parseApprovers(field, gate)
}

function parseApprovers(
  field: string,
  { wait_for: waitFor, prevent_self_approval: another = false, approvals = 1 }: Gate,
): StartGate {
  const refuse = (name: string): never => {
    throw invalidField(
      `${field}.${name}`,
      `is given with wait_for ${waitFor}, but only an approval is given by a person`,
    )
  }
  if (another && waitFor !== 'approval') refuse('prevent_self_approval')
  if (approvals > 1 && waitFor !== 'approval') refuse('approvals')
  return { ...(another && { prevent_self_approval: true }), ...(approvals > 1 && { approvals }) }
}

function parseTime(
  field: string,
  { wait_for: waitFor, minutes, not_before: notBefore }: Pick<Gate, 'wait_for' | 'minutes' | 'not_before'>,
): Pick<PhaseGate, 'minutes' | 'not_before_s'> {
  if (waitFor === 'time' && minutes === undefined && notBefore === undefined)
    throw invalidField(`${field}.minutes`, 'is required with wait_for time, unless not_before is given')
  if (waitFor !== 'time' && minutes !== undefined)
    throw invalidField(`${field}.minutes`, `is given with wait_for ${waitFor}, but only a wait for a time has them`)
  if (waitFor === 'pause' && notBefore !== undefined)
    throw invalidField(
      `${field}.not_before`,
      'is given with wait_for pause, but a pause ends when somebody resumes the upgrade',
    )
  return { ...(minutes !== undefined && { minutes }), ...(notBefore !== undefined && { not_before_s: notBefore }) }
}

/** @throws AppError invalid for a phase that could begin before an earlier one. */
function refuseReversed(gates: readonly (readonly [number, Gate])[]): void {
  const timed = gates
    .flatMap(([index, { phase, not_before: atS }]) => (atS === undefined ? [] : [{ index, phase, atS }]))
    .toSorted((a, b) => a.phase - b.phase)
  for (const [place, { index, atS }] of timed.entries()) {
    const before = timed[place - 1]
    if (before !== undefined && atS < before.atS)
      throw invalidField(
        `phase_gates.${index}.not_before`,
        `is ${isoOf(atS)}, before that of the gate after phase ${before.phase}, which is ${isoOf(before.atS)}`,
      )
  }
}

function isoOf(epochS: number): string {
  return new Date(epochS * 1000).toISOString()
}

function parseUrl(field: string, waitFor: GateWait, url: string | undefined): Pick<PhaseGate, 'url'> {
  if (waitFor === 'check') {
    if (url === undefined) throw invalidField(field, 'is required with wait_for check')
    return { url: parseCallable(field, url).href }
  }
  if (url !== undefined) throw invalidField(field, `is given with wait_for ${waitFor}, but only a check has one`)
  return {}
}

/**
 * @returns The addresses of checks by field, for assertCallable().
 * @throws AppError invalid naming the field of something else than an address.
 */
export function checkUrlsOf(gates: Static<typeof gateField> = []): Record<string, URL> {
  const urls = gates.map(({ url }, index) => ({ field: `phase_gates.${index}.url`, url }))
  return Object.fromEntries(
    urls.flatMap(({ field, url }) => (url === undefined ? [] : [[field, parseCallable(field, url)]])),
  )
}
