import { counted } from '../../platform/counted.ts'
import { findName, nameUpgrade } from '../events/name-upgrade.ts'
import type { OnItsWay } from '../targets/hops/hops.ts'
import type { ReleasedTarget } from './plan-release.ts'

/** A target of which nothing has begun, so that another upgrade may take its device over. */
export interface TakenTarget extends ReleasedTarget, OnItsWay {
  readonly state: 'planned' | 'deferred'
  readonly upgradeName: string | null
}

/** An upgrade that takes devices, or edge appliances, over. */
export interface Taker {
  readonly id: string
  /** As it is stored. */
  readonly request: Readonly<Record<string, unknown>>
}

/** The reason of a target whose device another upgrade takes over. */
export function takeoverReason({ id, request }: Taker): string {
  return nameUpgrade(`taken over by upgrade ${id}`, id, findName(request))
}

/** The message of the audit record of an upgrade that loses devices. @param what Their number, with the word for them. */
export function takeoverMessage({ id, request }: Taker, what: string, loser: string): string {
  return nameUpgrade(`Upgrade ${id} takes ${what} over from upgrade ${loser}`, id, findName(request))
}

/** The version that a device is to have in the end, or the one that it is to lose. */
export interface VersionChange {
  readonly kind: 'gets' | 'loses'
  readonly version: string
}

/** True if a device that runs the version is to have another one in the end. */
export function isChangedFrom(running: string, { kind, version }: VersionChange): boolean {
  return kind === 'gets' ? version !== running : version === running
}

/**
 * Notes in the record of an upgrade how many devices it takes from which others.
 * @param what The name of one of its targets.
 */
export function noteTaken(
  taken: readonly Pick<TakenTarget, 'orgUpgradeId' | 'upgradeName'>[],
  what = 'device',
): { readonly reason: string }[] {
  return [...Map.groupBy(taken, ({ orgUpgradeId }) => orgUpgradeId)]
    .map(([id, some]) => {
      const reason = `${counted(some.length, `${what} is`, `${what}s are`)} taken over from upgrade ${id}`
      return { reason: nameUpgrade(reason, id, some[0]?.upgradeName ?? null) }
    })
    .toSorted((a, b) => (a.reason < b.reason ? -1 : 1))
}
