/** Letters, digits and dashes, with at least one letter or digit. */
const ClaimCode = /^-*[A-Za-z0-9][A-Za-z0-9-]{0,63}$/

/**
 * Returns the form in which claim codes are stored, compared and answered: upper case without dashes. Null for a text
 * that is not a claim code. It must equal the expression of the index `device_registry_by_claim`.
 */
export function plainClaimCode(text: string): string | null {
  const code = text.trim()
  return ClaimCode.test(code) ? plainSpelling(code) : null
}

/**
 * Returns a code, or a part of one, in the spelling of stored codes. A text that consists of dashes, which no code
 * does, is returned unchanged.
 */
export function plainSpelling(part: string): string {
  const plain = part.replaceAll('-', '').toUpperCase()
  return plain === '' ? part : plain
}

/** True if clients accept the code. The Terraform provider hides a device with any other. @param plain From plainClaimCode(). */
export function isPortableClaimCode(plain: string): boolean {
  return /^[0-9A-Z]{15}$/.test(plain)
}
