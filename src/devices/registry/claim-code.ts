/** Letters, digits and dashes; without the dashes at least one character. */
const ClaimCode = /^-*[A-Za-z0-9][A-Za-z0-9-]{0,63}$/

/**
 * A claim code as it is compared: without dashes, in upper case. Null for a text that is no claim code.
 * Must equal the expression of the index `device_registry_by_claim`.
 */
export function plainClaimCode(text: string): string | null {
  const code = text.trim()
  return ClaimCode.test(code) ? code.replaceAll('-', '').toUpperCase() : null
}
