import { HEADER_NAME, HEADER_VALUE } from '../../platform/outbound/header-syntax.ts'

const MAX_BYTES = 1000
/** Headers that the connection or the signature depends on. */
const reserved =
  /^(host|content-(?!type$).*|connection|keep-alive|proxy-.*|transfer-encoding|te|trailer|upgrade|expect|accept-encoding|webhook-.*|x-mist-signature.*)$/i

/** Returns why these headers can't be sent with every delivery; null when they can. */
export function headerFault(headers: Readonly<Record<string, string>>): string | null {
  let bytes = 0
  const spellings = new Map<string, string>()
  for (const [name, text] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) return `${JSON.stringify(name)} is not a header name`
    if (reserved.test(name)) return `${name} is set by the service`
    if (!HEADER_VALUE.test(text)) return `the value of ${name} contains characters that headers may not have`
    const other = spellings.get(name.toLowerCase())
    if (other !== undefined) return `${other} and ${name} are the same header`
    spellings.set(name.toLowerCase(), name)
    bytes += name.length + text.length
  }
  return bytes > MAX_BYTES ? `are longer than ${MAX_BYTES} bytes together` : null
}

/**
 * Returns `headers` with those of `others`, which replace headers of the same name. Names have no case: a second spelling
 * would be sent beside the first.
 */
export function replaceHeaders(
  headers: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = new Set(Object.keys(others).map((name) => name.toLowerCase()))
  return {
    ...Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase()))),
    ...others,
  }
}
