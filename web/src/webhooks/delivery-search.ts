const deliveryPeriods = ['1h', '1d', '7d'] as const

/** The filter of a webhook's deliveries, as in the address of the page. */
export interface DeliverySearch {
  /** Absent: the webhook is one of the organization. */
  readonly site?: string
  readonly status?: 'success' | 'failure'
  readonly topic?: string
  readonly period?: (typeof deliveryPeriods)[number]
}

/** Keeps the known parameters; an address that was typed by hand may contain anything. */
export function parseDeliverySearch(search: Readonly<Record<string, unknown>>): DeliverySearch {
  const texts = (['site', 'topic'] as const).flatMap((name) => {
    const value = search[name]
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : []
  })
  const status = (['success', 'failure'] as const).find((name) => name === search['status'])
  const period = deliveryPeriods.find((name) => name === search['period'])
  return {
    ...Object.fromEntries(texts),
    ...(status !== undefined && { status }),
    ...(period !== undefined && { period }),
  }
}
