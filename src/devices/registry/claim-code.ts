/** Letters, digits and dashes, with at least one letter or digit. */
const ClaimCode = /^-*[A-Za-z0-9][A-Za-z0-9-]{0,63}$/

/**
 * Normalizes a claim code for comparison: without dashes, in upper case. Null for a text that is no claim code. It must
 * equal the expression of the index `device_registry_by_claim`.
 */
export function plainClaimCode(text: string): string | null {
  const code = text.trim()
  return ClaimCode.test(code) ? code.replaceAll('-', '').toUpperCase() : null
}
