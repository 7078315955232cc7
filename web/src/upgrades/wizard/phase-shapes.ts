import { type Draft, type SettledDraft, percentsOf, settle } from './draft.ts'
import { type PhaseGate, gatesIn } from './request.ts'

/** A phase in the drawing: the share of the devices that is upgraded by its beginning and by its end, 0 to 100. */
export interface PhaseShape {
  readonly from: number
  readonly to: number
  /** What the next phase waits for; null: nothing. */
  readonly wait: PhaseGate['wait_for'] | null
}

/** More would be too narrow to distinguish. */
const MAX_SHAPES = 24
/** Any number of devices, one after the other. */
const SERIAL_SHAPES = 12

/** Returns the phases that the parameters describe; empty if they can't be drawn. */
export function shapePhases(draft: Draft): readonly PhaseShape[] {
  const ends = endsOf(settle(draft))
  if (ends.some((end, index) => !(end > (ends[index - 1] ?? 0) && end <= 100))) return []
  const waits = new Map(gatesIn(draft).map(({ phase, wait_for: wait }) => [phase, wait]))
  return ends.map((to, index) => ({ from: ends[index - 1] ?? 0, to, wait: waits.get(index + 1) ?? null }))
}

function endsOf(settled: SettledDraft): readonly number[] {
  const { strategy, first, most } = settled
  if (strategy === 'big_bang') return [100]
  if (strategy === 'serial')
    return Array.from({ length: SERIAL_SHAPES }, (_, index) => ((index + 1) * 100) / SERIAL_SHAPES)
  if (strategy === 'rrm') return batchEnds(Number(first), Number(most))
  const ends = percentsOf(settled)
  return ends.length > MAX_SHAPES ? [] : ends
}

/** Returns in words what the drawing shows. */
export function describePhases(draft: Draft): string {
  const ends = shapePhases(draft).map(
    ({ to, wait }) =>
      `${Math.round(to)} %${wait === null ? '' : wait === 'time' ? ' and then a wait' : ' and then an approval'}`,
  )
  return `${isApprovedFirst(draft) ? 'Starts with an approval. ' : ''}Upgraded after each phase: ${ends.join(', ')}`
}

/** True if nothing begins before an approval. */
export function isApprovedFirst(draft: Draft): boolean {
  return gatesIn(draft).some(({ phase }) => phase === 0)
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
