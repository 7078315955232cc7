import { type TString, type TStringOptions, Type } from 'typebox'

const pair = '[0-9A-Fa-f]{2}'
const quad = `${pair}${pair}`
/** Without separators, as IEEE 802 and as most vendors write it, and as Cisco does. */
const mac = `[0-9A-Fa-f]{12}|${pair}(?:-${pair}){5}|${pair}(?::${pair}){5}|${quad}(?:\\.${quad}){2}`
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'

/** The pattern of an HTML form's `email` field. Source: HTML, "valid e-mail address". */
const email = `[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]+@${label}(?:\\.${label})*`

const MAC_REFUSAL = 'is not a MAC address'

/** Formats of texts that several operations accept, with the text of the refusal: people don't read patterns. */
const forms = {
  mac: { pattern: `^(?:${mac})$`, refusal: MAC_REFUSAL },
  macOrEmpty: { pattern: `^(?:${mac})?$`, refusal: MAC_REFUSAL },
  nodeOrEmpty: { pattern: '^(?:node[01])?$', refusal: 'must be node0 or node1' },
  email: { pattern: `^\\s*${email}\\s*$`, refusal: 'is not an e-mail address' },
  /** A time of day without a date, and a zone in brackets, are refused. */
  dateTime: { pattern: '^\\s*\\d{4}-?[\\dW][^[\\]]*$', refusal: 'must be an ISO 8601 date and time' },
  url: { pattern: '^\\s*[Hh][Tt][Tt][Pp][Ss]?:', refusal: 'must be an address of the form http://... or https://...' },
  urlOrEmpty: {
    pattern: '^(?:[Hh][Tt][Tt][Pp][Ss]?://[!-~]+)?$',
    refusal: 'must be an address of the form http://... or https://...',
  },
  /** The times in searches. Later times than the year 9999 are refused, too. */
  instant: {
    pattern: '^(?:now|\\d{1,12}(?:\\.\\d+)?|-\\d{1,7}[smhdw]?)$',
    refusal: 'must be epoch seconds, `now` or an offset like `-1d`',
  },
  duration: { pattern: '^\\d{1,7}[smhdw]?$', refusal: 'must be a number with one of the units s, m, h, d, w' },
  cursor: {
    pattern: '^[0-9]{1,18}$',
    refusal: 'must be the cursor of an answer, which is a text of digits',
  },
  timeOfDay: { pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', refusal: 'must be a time of day such as 02:30' },
  timeOfDayOrAny: {
    pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|any|)$',
    refusal: 'must be a time of day such as 02:30, or any',
  },
  endOfDay: {
    pattern: '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$',
    refusal: 'must be a time of day such as 02:30, or 24:00',
  },
  sha256: { pattern: '^[0-9a-fA-F]{64}$', refusal: 'must be a SHA-256, which has 64 hexadecimal digits' },
  ed25519Signature: {
    pattern: '^[A-Za-z0-9+/]{86}==$',
    refusal: 'must be an Ed25519 signature, which has 64 bytes, in base64',
  },
  visible: { pattern: '\\S', refusal: 'must have a character other than spaces' },
  addressRange: { pattern: '^[0-9A-Fa-f:.]+(?:/\\d+)?$', refusal: 'must be an address or a range like 10.0.0.0/8' },
} as const

const refusals: ReadonlyMap<unknown, string> = new Map(
  Object.values(forms).map(({ pattern, refusal }) => [pattern, refusal]),
)

/** True for a UUID in its usual form, in upper or lower case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

const timeOfDay = new RegExp(forms.timeOfDay.pattern)

/** True for a time of day such as 02:30. */
export function isTimeOfDay(text: string): boolean {
  return timeOfDay.test(text)
}

/** Declares a text of a form. The operation may have further conditions that no pattern can state. */
export function textOf(form: keyof typeof forms, options: TStringOptions = {}): TString {
  return Type.String({ ...options, pattern: forms[form].pattern })
}

/**
 * Returns the reason why a text is refused that does not match `pattern`; undefined if the pattern is not that of a
 * form.
 */
export function formRefusal(pattern: unknown): string | undefined {
  return refusals.get(pattern)
}
