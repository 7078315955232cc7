import { type TargetStatus, targetStatuses } from '../upgrade.ts'

/** The filter of the devices of an upgrade, as in the address of the page. */
export interface TargetSearch {
  readonly state?: TargetStatus
  readonly cause?: string
}

export function parseTargetSearch(search: Readonly<Record<string, unknown>>): TargetSearch {
  const state = targetStatuses.find((status) => status === search['state'])
  const { cause } = search
  return { ...(state !== undefined && { state }), ...(typeof cause === 'string' && cause !== '' && { cause }) }
}
