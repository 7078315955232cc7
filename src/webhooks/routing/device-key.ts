/** Bounds the size of a key in the index. */
const MAX_LENGTH = 64

/** Returns the device, or edge appliance, of an event; an empty text for other events, which have their own order. */
export function deviceKeyOf(event: unknown): string {
  const { mac, ap, mxedge_id: mxedgeId } = (event ?? {}) as Readonly<Record<string, unknown>>
  const key = [mac, ap, mxedgeId].find((value) => typeof value === 'string')
  return (key ?? '').toLowerCase().slice(0, MAX_LENGTH)
}
