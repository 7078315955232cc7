const MAX_LENGTH = 500

// The scheme is bounded: an open one would try every letter of a long text as its beginning, again and again.
const addresses = /[a-z][a-z0-9+.-]{0,15}:\/\/[^\s"'`<>]+/gi

/**
 * What a device said, fit to be kept. Access points quote their whole download command, and whoever has the
 * signed address in it may download.
 */
export function deviceText(text: string): string {
  return text.replace(addresses, '(address)').slice(0, MAX_LENGTH)
}
