const MAX_LENGTH = 500

// The bounded length of the scheme keeps matching linear in long texts without an address.
const addresses = /[a-z][a-z0-9+.-]{0,15}:\/\/[^\s"'`<>]+/gi

/**
 * Removes addresses from a device's text and shortens it, so that it can be stored. Access points quote their whole
 * download command, and anyone who has the signed address in it may download.
 */
export function deviceText(text: string, maxLength: number = MAX_LENGTH): string {
  const shown = text.replaceAll('\0', '\ufffd').replace(addresses, '(address)').slice(0, maxLength)
  // The cut may split a character, which the database would refuse.
  return shown.toWellFormed()
}
