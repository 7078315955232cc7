/** The periods of which deliveries are shown, in words. */
export const periodWords = [
  { value: '1h', label: 'The last hour' },
  { value: '1d', label: 'The last day' },
  { value: '7d', label: 'The last 7 days' },
] as const

export type DeliveryPeriod = (typeof periodWords)[number]['value']

export const DEFAULT_PERIOD: DeliveryPeriod = '1d'

/** The filter of a webhook's deliveries, as in the address of the page. */
export interface DeliverySearch {
  /** Absent: the webhook is one of the organization. */
  readonly site?: string
  readonly status?: 'success' | 'failure'
  readonly topic?: string
  readonly period?: DeliveryPeriod
}

/** Keeps the known parameters; an address that was typed by hand may contain anything. */
export function parseDeliverySearch(search: Readonly<Record<string, unknown>>): DeliverySearch {
  const texts = (['site', 'topic'] as const).flatMap((name) => {
    const value = search[name]
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : []
  })
  const status = (['success', 'failure'] as const).find((name) => name === search['status'])
  const period = periodWords.find(({ value }) => value === search['period'])?.value
  return {
    ...Object.fromEntries(texts),
    ...(status !== undefined && { status }),
    ...(period !== undefined && { period }),
  }
}
