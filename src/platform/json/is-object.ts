/** True if a JSON value is an object, not an array, a text, null, or a number that is stored by its digits. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && JSON.isRawJSON?.(value) !== true
}
