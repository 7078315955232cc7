import { type TargetStatus, targetStatuses } from '../../upgrade.ts'

/** The filter of the devices of an upgrade, as in the address of the page. */
export interface TargetSearch {
  readonly state?: TargetStatus
  readonly cause?: string
  /** The site whose devices are shown; absent: all of them. */
  readonly at?: string
  /** The device whose timeline is open. */
  readonly device?: string
  /** The site whose floor plan is shown; absent: the first one. */
  readonly site?: string
  /** The floor plan of it that is shown; absent: the first one. */
  readonly map?: string
}

export function parseTargetSearch(search: Readonly<Record<string, unknown>>): TargetSearch {
  const state = targetStatuses.find((status) => status === search['state'])
  const texts = (['cause', 'at', 'device', 'site', 'map'] as const).flatMap((name) => {
    // The router reads a text of digits as a number.
    const value = typeof search[name] === 'number' ? String(search[name]) : search[name]
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : []
  })
  return { ...(state !== undefined && { state }), ...Object.fromEntries(texts) }
}
