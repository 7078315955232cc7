import { textOf as boundedText } from '../report-values.ts'
import { partsOf, rpcs } from './rpc.ts'
import { type Task, waits } from './task.ts'
import { type XmlElement, textOf } from './xml.ts'

/** The software of one member, node, or device. */
export interface SoftwareSet {
  /** Null for a device without members, and for a member that doesn't report its number. */
  readonly member: number | null
  readonly active: string
  /** The version of the next boot, if it differs from the running one. */
  readonly pending: string | null
  /** The version that a rollback boots. */
  readonly backup: string | null
}

/**
 * Returns the software of each member; null if the release doesn't report it.
 * @param isAlone True for a device that is known to have no other members.
 */
export function* readSoftwareSets(isAlone = false): Task<SoftwareSet[] | null> {
  const step = { step: 'check' as const }
  let reply = yield { rpc: isAlone ? rpcs.softwareSetsHere : rpcs.softwareSets, timeoutMs: waits.read, step }
  // A device without members refuses the question about all of them.
  if (reply.kind === 'error' && !isAlone) reply = yield { rpc: rpcs.softwareSetsHere, timeoutMs: waits.read, step }
  if (reply.kind !== 'ok') return null
  const sets = parseSoftwareSets(reply.root)
  return sets.length === 0 ? null : sets
}

function parseSoftwareSets(root: XmlElement): SoftwareSet[] {
  return partsOf(root).flatMap(({ engine, element }) => {
    const active = versionIn(element, 'active-set-version')
    if (active === null) return []
    const pending = versionIn(element, 'pending-set-version')
    const backup = versionIn(element, 'software-rollback-target')
    return [{ member: memberOf(engine), active, pending: pending === active ? null : pending, backup }]
  })
}

/** Returns the member that a part of a reply is of. */
export function memberOf(engine: string | null): number | null {
  const [, digit] = /^(?:fpc|member)\s?(\d)$/.exec(engine ?? '') ?? []
  return digit === undefined ? null : Number(digit)
}

/** Versions may be prefixed with the name of the system. */
function versionIn(element: XmlElement, name: string): string | null {
  const version = boundedText(textOf(element, name)?.replace(/^junos[-:\s]+/i, ''), 64)
  return version === undefined || version === '-' ? null : version
}

/** The version that a rollback of the whole device boots, or the reason why there is none. */
export type Backup = { readonly version: string } | { readonly refusal: string }

/** A Virtual Chassis whose members returned to different versions would fall apart. */
export function decideBackup(sets: readonly SoftwareSet[]): Backup {
  const versions = new Set(sets.map(({ backup }) => backup))
  const [version = null] = versions
  if (version === null || versions.has(null)) return { refusal: 'no backup version' }
  if (versions.size === 1) return { version }
  const named = [...versions].map(String).toSorted()
  return { refusal: `the members have different backup versions: ${named.join(', ')}` }
}
