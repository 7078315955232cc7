import { type PlaceScope, coversOrg } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { AppError } from '../../platform/errors.ts'
import type { UpgradeEventInput } from '../../rollout/events/append-events.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { type SitePart, getSitePart, hasOtherSites } from '../site/store.ts'
import { lockOrgUpgrade } from '../store.ts'

interface Named {
  readonly id: string
  readonly kind: UpgradeKind
}

/** An upgrade that a person changes, in its organization or at one site. */
export interface ChangedUpgrade {
  /** That of the organization upgrade. */
  readonly id: string
  /** Its only part that is concerned; null: the change is made in the organization. */
  readonly part: SitePart | null
  /** Fields of the events of the change. Those at a site also reach the webhooks and the audit log of the site. */
  readonly place: Pick<UpgradeEventInput, 'upgrade_id' | 'site_upgrade_id' | 'site_id'>
}

/** Locks an upgrade against the engine. At a site, the change concerns only its own part. @throws AppError not_found */
export async function lockChanged(tx: Tx, scope: PlaceScope, { id: named, kind }: Named): Promise<ChangedUpgrade> {
  const part = coversOrg(scope) ? null : await getSitePart(tx, scope, { id: named, kind })
  const id = part?.orgUpgradeId ?? named
  await lockOrgUpgrade(tx, scope, { id, kind })
  return {
    id,
    part,
    place: { upgrade_id: id, ...(part !== null && { site_upgrade_id: part.id, site_id: part.siteId }) },
  }
}

/**
 * Does the same for a change that concerns all devices of the upgrade, because pauses, gates and limits are those of the whole.
 * @param done What the change does, for the refusal: "paused".
 * @throws AppError not_found; invalid at a site, if the upgrade has other sites or may get some.
 */
export async function lockWhole(tx: Tx, scope: PlaceScope, named: Named, done: string): Promise<ChangedUpgrade> {
  const changed = await lockChanged(tx, scope, named)
  if (!coversOrg(scope) && (await hasOtherSites(tx, scope, changed.id)))
    throw new AppError(
      'invalid',
      `The upgrade can't be ${done} at this site, because it concerns other sites, too: this needs access to the organization`,
    )
  return changed
}
