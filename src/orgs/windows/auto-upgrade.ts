import { findNextTime, type weekdays } from './windows.ts'

/** The setting `auto_upgrade`, as on the wire: when the access points of a site get which version. */
export interface AutoUpgrade {
  readonly enabled?: boolean
  /** The label of the version for all models. `custom`: only the models of `custom_versions` are upgraded. */
  readonly version?: 'stable' | 'beta' | 'custom'
  /** Precedes `version`. Model -> version or label. */
  readonly custom_versions?: Readonly<Record<string, string>>
  readonly day_of_week?: (typeof weekdays)[number] | 'any'
  /** `HH:MM` on the clock of the site, or `any`. */
  readonly time_of_day?: string
}

/** The time for `any`, when few people work. */
export const DEFAULT_TIME_OF_DAY = '02:00'

/** Returns the next time of automatic upgrades after an instant. @param zone The name of an IANA zone. */
export function nextAutoUpgrade(
  { day_of_week: day = 'any', time_of_day: time = 'any' }: AutoUpgrade,
  zone: string,
  after: Date,
): Date {
  const days = day === 'any' ? undefined : [day]
  return new Date(findNextTime({ days, time: time === 'any' ? DEFAULT_TIME_OF_DAY : time }, zone, after.getTime()))
}
