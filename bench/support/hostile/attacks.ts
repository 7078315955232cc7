import type { Attack } from './attack.ts'
import { deviceAttacks } from './device-attacks.ts'
import { guessAttacks } from './guess-attacks.ts'
import { nameAttacks } from './name-attacks.ts'
import { socketAttacks } from './socket-attacks.ts'
import { workAttacks } from './work-attacks.ts'

/** Every attack, by its name. The benchmark runs one at a time, the soak several together. */
export const attacks: Readonly<Record<string, Attack>> = {
  ...workAttacks,
  ...nameAttacks,
  ...deviceAttacks,
  ...socketAttacks,
  ...guessAttacks,
}

/**
 * Parses names that are separated by commas; without a text, all.
 * @throws Error that names an unknown attack.
 */
export function parseAttackNames(text: string | undefined): string[] {
  const known = Object.keys(attacks)
  if (text === undefined) return known
  const names = text.split(',').map((name) => name.trim())
  const odd = names.find((name) => !known.includes(name))
  if (odd !== undefined)
    throw new Error(`--attacks has ${JSON.stringify(odd)}, but must be some of ${known.join(', ')}`)
  return names
}
