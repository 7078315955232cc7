/** Bounds what a key occupies in the index. */
const MAX_LENGTH = 64

/**
 * Returns which device, or edge appliance, an event is about; an empty text for other events, which have an order of their
 * own.
 */
export function deviceKeyOf(event: unknown): string {
  const { mac, ap, mxedge_id: mxedgeId } = (event ?? {}) as Readonly<Record<string, unknown>>
  const key = [mac, ap, mxedgeId].find((value) => typeof value === 'string')
  return (key ?? '').toLowerCase().slice(0, MAX_LENGTH)
}
