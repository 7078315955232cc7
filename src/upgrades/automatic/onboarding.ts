import type { DeviceType } from '../../events/device-type.ts'
import { isSsrModel } from '../../devices/registry/models.ts'

/** The fields of settings whose `auto_upgrade` concerns devices that connect for the first time. */
export type OnboardingSetting = 'juniper_srx' | 'ssr' | 'switch'

/** `auto_upgrade` in one of these fields, as on the wire. */
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

/** Returns the setting that concerns a device; null: none does. */
export function settingOf({
  type,
  model,
}: {
  readonly type: DeviceType
  readonly model: string
}): OnboardingSetting | null {
  if (type === 'switch') return 'switch'
  if (type !== 'gateway') return null
  if (isSsrModel(model)) return 'ssr'
  return /^v?srx/i.test(model) ? 'juniper_srx' : null
}

/** A device that is connected at a site with the setting, and was not before. */
export interface NewDevice {
  readonly orgId: string
  readonly siteId: string
  readonly id: string
  readonly type: DeviceType
  readonly model: string
  readonly setting: OnboardingSetting
  readonly rule: Onboarding
}

/** The new devices of a site that one setting concerns. */
export interface NewDevices extends Pick<NewDevice, 'orgId' | 'siteId' | 'type' | 'setting' | 'rule'> {
  readonly deviceIds: ReadonlySet<string>
}

/** Gathers the devices that are upgraded together. */
export function groupNewDevices(devices: readonly NewDevice[]): NewDevices[] {
  const meant = devices.filter((device) => settingOf(device) === device.setting)
  const groups = Map.groupBy(meant, ({ siteId, setting }) => `${siteId} ${setting}`)
  return [...groups.values()].flatMap((some) => {
    const [first] = some
    return first === undefined ? [] : [{ ...first, deviceIds: new Set(some.map(({ id }) => id)) }]
  })
}
