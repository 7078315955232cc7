/** The filters of the device list, as in the address of the page. */
export interface DeviceSearch {
  readonly text?: string
  readonly type?: string
  readonly status?: string
  readonly site?: string
  readonly model?: string
  readonly version?: string
  readonly sort?: DeviceSort
  /** See columnsIn(). */
  readonly columns?: string
}

/** Fields to sort by; with a minus, in descending order. */
const deviceSorts = ['name', '-name', 'model', '-model', 'mac', '-mac'] as const
export type DeviceSort = (typeof deviceSorts)[number]

const texts = ['text', 'type', 'status', 'site', 'model', 'version', 'columns'] as const

/** Keeps the known parameters; an address that was typed by hand may contain anything. */
export function parseDeviceSearch(search: Readonly<Record<string, unknown>>): DeviceSearch {
  const filters = texts.flatMap((name) => {
    const value = search[name]
    // The router reads a text of digits as a number.
    const text = typeof value === 'number' ? String(value) : value
    return typeof text === 'string' && text !== '' ? [[name, text] as const] : []
  })
  const sort = deviceSorts.find((name) => name === search['sort'])
  return { ...Object.fromEntries(filters), ...(sort !== undefined && { sort }) }
}

/** Returns the parts that say which devices are wanted, and not how they are shown. */
export function filtersOf({ sort: _, columns: __, ...filters }: DeviceSearch): DeviceSearch {
  return filters
}

/** Returns the query of the inventory search. */
export function inventoryQuery(
  { site, type = 'all', sort = 'name', columns: _, ...others }: DeviceSearch,
  page: number,
) {
  return {
    ...others,
    type: (type === 'ap' || type === 'switch' || type === 'gateway' ? type : 'all') satisfies string,
    ...(site !== undefined && { site_id: site }),
    sort,
    limit: 100,
    page,
  } as const
}
