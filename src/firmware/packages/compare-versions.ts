/**
 * Orders versions as Debian does: negative if `a` is older than `b`, 0 if neither is newer. Numbers count by their value,
 * `~` is older than the end of a version (`2.0~rc1` before `2.0`), letters come before other characters, an epoch before
 * `:` counts most and a revision behind the last `-` least. Any text is a version.
 * Source: Debian Policy Manual, 5.6.12.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)]
  return (
    compareNumbers(left.epoch, right.epoch) ||
    compareParts(left.upstream, right.upstream) ||
    compareParts(left.revision, right.revision)
  )
}

interface Parts {
  /** Digits. */
  readonly epoch: string
  readonly upstream: string
  readonly revision: string
}

function partsOf(version: string): Parts {
  const [, epoch = '0', rest = version] = /^([0-9]+):(.*)$/s.exec(version) ?? []
  const dash = rest.lastIndexOf('-')
  if (dash === -1) return { epoch, upstream: rest, revision: '0' }
  return { epoch, upstream: rest.slice(0, dash), revision: rest.slice(dash + 1) }
}

/** Compares pieces by turns: one without digits, then one of digits, which may be empty. */
function compareParts(a: string, b: string): number {
  const [left, right] = [piecesOf(a), piecesOf(b)]
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const { text = '', digits = '' } = left[index] ?? {}
    const { text: otherText = '', digits: otherDigits = '' } = right[index] ?? {}
    const order = compareTexts(text, otherText) || compareNumbers(digits, otherDigits)
    if (order !== 0) return order
  }
  return 0
}

interface Piece {
  readonly text: string
  readonly digits: string
}

function piecesOf(part: string): Piece[] {
  return Array.from(part.matchAll(/([^0-9]*)([0-9]*)/g), ([, text = '', digits = '']) => ({ text, digits }))
}

function compareTexts(a: string, b: string): number {
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const order = weightOf(a.charCodeAt(index)) - weightOf(b.charCodeAt(index))
    if (order !== 0) return order
  }
  return 0
}

const TILDE = 0x7e
const OTHERS = 0x1_0000

/** @param code NaN behind the end of the text. */
function weightOf(code: number): number {
  if (Number.isNaN(code)) return 0
  if (code === TILDE) return -1
  return /[A-Za-z]/.test(String.fromCharCode(code)) ? code : code + OTHERS
}

/** Compares digits by their value, however many they are; no digits are zero. */
function compareNumbers(a: string, b: string): number {
  const [left, right] = [a.replace(/^0+/, ''), b.replace(/^0+/, '')]
  if (left.length !== right.length) return left.length - right.length
  return left === right ? 0 : left < right ? -1 : 1
}
