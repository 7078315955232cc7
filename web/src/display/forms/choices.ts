import type { LoadFailure } from '../layout/load-failure.ts'

export interface Choice {
  readonly value: string
  readonly label: string
}

/** Choices that are read from the server. */
export interface LoadedChoices {
  /** Undefined until they are read. */
  readonly choices: readonly Choice[] | undefined
  readonly failure: LoadFailure | null
}

/** More choices than these are not shown at once, but searched by a part of their labels. */
export const MANY_CHOICES = 30

interface Shortening {
  readonly chosen: readonly string[]
  /** A part of their labels, in any case. */
  readonly text: string
}

/**
 * Returns the choices to show, in their order: the first ones whose labels contain the text, and without a text also those that
 * are chosen. `more` counts the others that match.
 */
export function shortenChoices(choices: readonly Choice[], { chosen, text }: Shortening) {
  const wanted = text.trim().toLowerCase()
  const matching = choices.filter(({ label }) => label.toLowerCase().includes(wanted))
  const kept = new Set(wanted === '' ? chosen : [])
  const shown = matching.filter(({ value }, index) => index < MANY_CHOICES || kept.has(value))
  return { shown, more: matching.length - shown.length }
}

/** Returns the choices, and those that were chosen but are none of them any more: so that they can be taken back. */
export function withMissing(choices: readonly Choice[], chosen: readonly string[], missing: string): readonly Choice[] {
  const known = new Set(choices.map(({ value }) => value))
  const gone = chosen.filter((value) => !known.has(value))
  return [...gone.map((value) => ({ value, label: `${value} (${missing})` })), ...choices]
}

/** Returns the choice a step after another one, or before it; beyond an end, and without another one, the first or the last. */
export function nextChoice(choices: readonly Choice[], from: Choice | undefined, step: number): Choice | undefined {
  const at = from === undefined ? -1 : choices.indexOf(from)
  if (at === -1) return choices.at(step > 0 ? 0 : -1)
  return choices[(at + step + choices.length) % choices.length]
}
