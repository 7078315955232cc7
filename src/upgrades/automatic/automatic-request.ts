import type { DeviceType } from '../../events/device-type.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { type UpgradeRequest, plainRequest } from '../org-upgrade.ts'
import { allDevices } from '../planning/plan-selection.ts'
import type { Phasing } from '../strategies/strategy.ts'

/** An upgrade that a setting demands of devices of a site. */
export interface AutomaticUpgrade {
  readonly kind: UpgradeKind
  readonly siteId: string
  readonly deviceIds: ReadonlySet<string>
  readonly type: DeviceType
  /** The label or version for all models; null: only the models of `ofModels` are upgraded. */
  readonly version: string | null
  /** Precedes `version`. */
  readonly ofModels: Readonly<Record<string, string>>
  readonly snapshot: boolean
  readonly strategy: { readonly name: string; readonly phasing: Phasing }
  /** Null: it has no end. */
  readonly endsAt: Date | null
  /** The name of the setting. */
  readonly setting: string
  /** Why it leaves devices out. */
  readonly reasons?: readonly string[]
}

/**
 * Returns the request for an upgrade that no person has requested. A version that the catalog lacks for one model does not
 * refuse it for the others, and devices keep what is higher than a label.
 */
export function automaticRequest(upgrade: AutomaticUpgrade): UpgradeRequest {
  const {
    kind,
    siteId,
    deviceIds,
    type,
    version,
    ofModels,
    snapshot,
    strategy,
    endsAt,
    setting,
    reasons = [],
  } = upgrade
  const firmwareType = type === 'ap' ? 'ap' : 'junos'
  const begun = `Begun by ${setting} in the settings of the site or its organization`
  const notes = [begun, ...reasons].map((reason) => ({ reason }))
  return {
    ...plainRequest,
    kind,
    siteIds: [siteId],
    selection: { ...allDevices, ids: deviceIds, type },
    versions: [
      {
        field: null,
        firmwareType,
        version,
        modelVersion: new Map(Object.entries(ofModels)),
        force: false,
        keepsHigher: true,
      },
    ],
    snapshot,
    strategy: strategy.name,
    phasing: { ...strategy.phasing, notes: [...strategy.phasing.notes, ...notes] },
    endsAt,
    isAutomatic: true,
    document: {
      device_type: type,
      versions: [{ firmware_type: firmwareType, ...(version !== null && { version }), model_version: ofModels }],
      strategy: strategy.name,
      ...(snapshot && { snapshot }),
      ...(endsAt !== null && { end_time: epochS(endsAt) }),
    },
  }
}
