import { AppError } from '../../platform/errors.ts'
import type { InTheWay } from './store.ts'

/** @throws AppError conflict that says, in words and numbers, what has to go first. */
export function assertNothingInTheWay(what: 'site' | 'organization', { devices, upgrades }: InTheWay): void {
  if (devices === 0 && upgrades === 0) return
  const first = [
    ...(devices > 0 ? [`${countOf(devices, 'device')} (${what === 'site' ? 'unassign' : 'unclaim'} first)`] : []),
    ...(upgrades > 0 ? [`${countOf(upgrades, 'running upgrade')} (cancel, or wait for the end)`] : []),
  ]
  throw new AppError('conflict', `The ${what} still has ${first.join(' and ')}.`, { devices, upgrades })
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
