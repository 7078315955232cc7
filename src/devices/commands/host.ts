import { isIP } from 'node:net'

const MAX_HOST_CHARACTERS = 253
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/**
 * True for an IP address without a zone, or a host name. The text reaches a shell on the device, so only letters,
 * digits, `.`, `-` and `:` are allowed, and it must not begin like an option.
 */
export function isHost(text: string): boolean {
  if (text.length > MAX_HOST_CHARACTERS) return false
  if (isIP(text) !== 0) return /^[0-9a-f.:]+$/i.test(text)
  const labels = text.split('.')
  return labels.every((part) => label.test(part)) && !labels.every((part) => /^\d+$/.test(part))
}

/** True for the name of a network interface as Linux knows them; it reaches the same shell. */
export function isInterface(text: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{0,14}$/i.test(text)
}
