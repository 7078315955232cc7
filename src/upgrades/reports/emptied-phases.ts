import type { ReportedUpgrade } from './report.ts'

/**
 * Returns the phases of targets together with those that have lost all their devices: no target names these any more,
 * but the upgrade waits for what their gates demand.
 */
export function withEmptied<P extends { readonly phase: number }>(
  phases: readonly P[],
  gates: ReportedUpgrade['gates'],
  createEmpty: (phase: number) => P,
): P[] {
  const known = new Set(phases.map(({ phase }) => phase))
  const emptied = (gates ?? []).flatMap((gate, index) => (gate?.emptied === true ? [index + 1] : []))
  const added = emptied.filter((phase) => !known.has(phase)).map(createEmpty)
  return [...phases, ...added].toSorted((a, b) => a.phase - b.phase)
}
