import { type Draft, type SettledDraft, forms, numbersIn, settle } from './draft.ts'

/** A phase in the drawing: the share of the devices that is upgraded by its beginning and by its end, 0 to 100. */
export interface PhaseShape {
  readonly from: number
  readonly to: number
  readonly isGated: boolean
}

/** More would be too narrow to distinguish. */
const MAX_SHAPES = 24
/** Any number of devices, one after the other. */
const SERIAL_SHAPES = 12

/** Returns the phases that the parameters describe; empty if they can't be drawn. */
export function shapePhases(draft: Draft): readonly PhaseShape[] {
  const settled = settle(draft)
  const { kind, strategy, gate } = settled
  const canWait = strategy === 'canary' && forms[kind].hasApprovals
  const ends = endsOf(settled)
  if (ends.some((end, index) => !(end > (ends[index - 1] ?? 0) && end <= 100))) return []
  return ends.map((to, index) => {
    const isLast = index === ends.length - 1
    const isGated = canWait && !isLast && (gate === 'each' || (gate === 'first' && index === 0))
    return { from: ends[index - 1] ?? 0, to, isGated }
  })
}

function endsOf({ strategy, phases, first, most }: SettledDraft): readonly number[] {
  if (strategy === 'big_bang') return [100]
  if (strategy === 'serial')
    return Array.from({ length: SERIAL_SHAPES }, (_, index) => ((index + 1) * 100) / SERIAL_SHAPES)
  if (strategy === 'rrm') return batchEnds(Number(first), Number(most))
  const percents = numbersIn(phases)
  const ends = percents.at(-1) === 100 ? percents : [...percents, 100]
  return ends.length > MAX_SHAPES ? [] : ends
}

/** The first batch, and then batches that double up to the largest. */
function batchEnds(first: number, most: number): readonly number[] {
  if (!(first >= 1 && most >= 1)) return []
  const ends: number[] = []
  let size = Math.min(first, most)
  for (let end = size; end < 100 && ends.length < MAX_SHAPES - 1; end += size) {
    ends.push(end)
    size = Math.min(size * 2, most)
  }
  return [...ends, 100]
}
