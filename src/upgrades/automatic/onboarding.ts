import type { DeviceType } from '../../events/device-type.ts'
import { areVersions, isVersion } from '../../orgs/windows/auto-upgrade.ts'
import { isObject } from '../../platform/json/is-object.ts'

/** The fields of settings whose `auto_upgrade` concerns devices that connect for the first time. */
export type OnboardingSetting = 'juniper_srx' | 'ssr' | 'switch'

/** `auto_upgrade` in one of these fields, as on the wire, without those that are null. */
export interface Onboarding {
  readonly enabled?: boolean
  /** A label or a version for all models. */
  readonly version?: string
  /** For `ssr`: the label for all models if there is no `version`. */
  readonly channel?: string
  /** Precedes them. Model -> version or label. */
  readonly custom_versions?: Readonly<Record<string, string>>
  readonly snapshot?: boolean
}

/** The new devices of a site that one setting concerns: they are connected there, and were not before. */
export interface NewDevices {
  readonly orgId: string
  readonly siteId: string
  readonly setting: OnboardingSetting
  readonly type: DeviceType
  readonly deviceIds: readonly string[]
}

/**
 * Returns `auto_upgrade` of a field of the settings.
 * @returns Null: it is turned off, or it was stored before its fields were checked, and one of them has an impossible value.
 */
export function onboardingOf(field: unknown): Onboarding | null {
  const stored = isObject(field) ? field['auto_upgrade'] : null
  if (!isObject(stored) || stored['enabled'] !== true) return null
  const rule: Record<string, unknown> = Object.fromEntries(Object.entries(stored).filter(([, value]) => value !== null))
  const { version, channel, custom_versions: versions } = rule
  const areTexts = [version, channel].every((value) => value === undefined || isVersion(value))
  return areTexts && areVersions(versions) ? rule : null
}
