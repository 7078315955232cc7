import { counted, grouped } from '../../display/texts/counted.ts'
import type { Report } from '../upgrade.ts'

const MOST_SIZES = 6

/** Returns the strategy in a sentence, such as "canary, in 3 phases of 1, 9 and 30 devices". */
export function strategyText({ strategy, phases }: Pick<Report, 'strategy' | 'phases'>, unit: string): string {
  const name = strategy.replaceAll('_', ' ')
  const sizes = phases.map(({ total }) => total)
  const [first = 0] = sizes
  if (sizes.length < 2) return sizes.length === 0 ? name : `${name}, ${counted(first, unit)} at once`
  const count = `${name}, in ${counted(sizes.length, 'phase')}`
  if (sizes.every((size) => size === first)) return `${count} of ${counted(first, unit)} each`
  if (sizes.length > MOST_SIZES) return `${count} of up to ${counted(Math.max(...sizes), unit)}`
  return `${count} of ${sizes.slice(0, -1).map(grouped).join(', ')} and ${counted(sizes.at(-1) ?? 0, unit)}`
}

/** Returns from which versions to which one devices go, such as "3.1.0 → 3.2.0". */
export function versionText({ versions, target_version: target }: Pick<Report, 'versions' | 'target_version'>): string {
  const from = [...new Set(versions.map((version) => version.from ?? 'unknown'))]
  const to = [...new Set(versions.map((version) => version.to))]
  const textOf = (names: readonly string[], none: string): string =>
    names.length === 0 ? none : names.length <= 2 ? names.join(', ') : counted(names.length, 'version')
  return `${textOf(from, 'unknown')} → ${textOf(to, target)}`
}
