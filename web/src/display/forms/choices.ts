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

/** Returns the choices, and those that were chosen but are none of them any more: so that they can be taken back. */
export function withMissing(choices: readonly Choice[], chosen: readonly string[], missing: string): readonly Choice[] {
  const known = new Set(choices.map(({ value }) => value))
  const gone = chosen.filter((value) => !known.has(value))
  return [...gone.map((value) => ({ value, label: `${value} (${missing})` })), ...choices]
}
