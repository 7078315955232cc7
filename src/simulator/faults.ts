import { createHash } from 'node:crypto'
import { AppError } from '../platform/errors.ts'

/** The ways in which a simulated device fails at every opportunity. */
export const faults = [
  'refuse',
  'fail_download',
  'fail_upload',
  'never_return',
  'old_version',
  'flap',
  'slow',
  'unhealthy',
  'unstable',
  'lose_power',
  'lose_restore',
] as const
export type Fault = (typeof faults)[number]

/** The devices that have a fault: a share of all (0..1), or the listed MACs (lower-case hex). */
export type FaultTargets = { readonly share: number } | { readonly macs: readonly string[] }

export type FaultPlan = Readonly<Partial<Record<Fault, FaultTargets>>>

/**
 * @param text `10%`, or MACs separated by commas; a MAC may contain separators.
 * @throws AppError `invalid`
 */
export function parseFaultTargets(text: string): FaultTargets {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1]
  if (percent !== undefined) {
    const share = Number(percent) / 100
    if (share > 1) throw new AppError('invalid', `${text} is more than all devices`)
    return { share }
  }
  return { macs: text.split(',').map(parseMac) }
}

/** @throws AppError `invalid` */
export function parseMac(text: string): string {
  const mac = text.trim().toLowerCase().replaceAll(/[:.-]/g, '')
  if (!/^[0-9a-f]{12}$/.test(mac)) throw new AppError('invalid', `"${text}" is neither a MAC nor a share like 10%`)
  return mac
}

/**
 * Refuses MACs of devices that can't have faults, because the simulation would otherwise run without them.
 * @param macs Of the access points and switches of the fleet.
 * @throws AppError `invalid`
 */
export function checkFaults(plan: FaultPlan, macs: readonly string[]): void {
  for (const fault of faults) {
    const targets = plan[fault]
    if (targets === undefined || !('macs' in targets)) continue
    const other = targets.macs.find((mac) => !macs.includes(mac))
    const option = `--${fault.replaceAll('_', '-')}`
    if (other !== undefined)
      throw new AppError('invalid', `${option} names ${other}, which is no uCentral device of the fleet`)
  }
}

/**
 * Returns the faults of each device that has any. A share selects the same devices in each run, but different ones for
 * each fault.
 */
export function assignFaults(plan: FaultPlan, macs: readonly string[]): ReadonlyMap<string, ReadonlySet<Fault>> {
  const assigned = new Map<string, Set<Fault>>()
  for (const fault of faults) {
    const targets = plan[fault]
    if (targets === undefined) continue
    for (const mac of 'macs' in targets ? targets.macs : draw(fault, macs, targets.share)) {
      const own = assigned.get(mac) ?? new Set()
      assigned.set(mac, own.add(fault))
    }
  }
  return assigned
}

function draw(fault: Fault, macs: readonly string[], share: number): readonly string[] {
  const ranked = macs.map((mac) => ({ mac, rank: createHash('sha256').update(`${fault} ${mac}`).digest('hex') }))
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1))
  return ranked.slice(0, Math.round(share * macs.length)).map(({ mac }) => mac)
}
