import { parseAttackNames } from '../../bench/support/hostile/attacks.ts'
import type { Random } from './random.ts'

/**
 * Plans which attacks run together, one mix after the other. Each attack is in a mix again only after all others were.
 * @returns No mix names an attack twice.
 */
export function planMixes(random: Random, names: readonly string[], plan: MixPlan): string[][] {
  const { mixes, together } = plan
  const size = Math.min(together, names.length)
  let deck: string[] = []
  return Array.from({ length: mixes }, () => {
    const mix = deck.splice(0, size)
    if (mix.length < size) {
      const next = random.shuffle(names)
      // The names in this mix go last, so that none is in it twice.
      deck = [...next.filter((name) => !mix.includes(name)), ...next.filter((name) => mix.includes(name))]
      mix.push(...deck.splice(0, size - mix.length))
    }
    return mix
  })
}

export interface MixPlan {
  readonly mixes: number
  /** Attacks of one mix. */
  readonly together: number
}

/**
 * Parses mixes that are separated by commas, of attacks that are separated by `+`, as the soak prints them.
 * @throws Error that names an unknown attack.
 */
export function parseMixes(text: string): string[][] {
  return text.split(',').map((mix) => parseAttackNames(mix.replaceAll('+', ',')))
}

/** Returns `count` mixes, which are the given ones in turn. */
export function repeatMixes(mixes: readonly (readonly string[])[], count: number): (readonly string[])[] {
  return Array.from({ length: count }, (_, index) => mixes[index % mixes.length] ?? [])
}
