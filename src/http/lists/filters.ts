import { type TOptional, type TSchema, type TUnsafe, Type } from 'typebox'
import { invalidField } from '../../platform/errors.ts'
import { isUuid } from '../texts.ts'

/**
 * The condition of a filter on a field: it has one of the values, matches one of the patterns, or lies in the range.
 */
export type Condition = Alternatives | Range

export interface Alternatives {
  readonly values: readonly (string | number | boolean)[]
  readonly patterns: readonly Pattern[]
  /** True if patterns ignore case. */
  readonly anyCase: boolean
}

/** The texts between the wildcards, in their order: `AP4*` is `['AP4', '']`, and `*P4*` is `['', 'P4', '']`. */
export type Pattern = readonly string[]

/** Instants after one, from one on, or before one. */
export interface Range {
  readonly after?: Date
  readonly from?: Date
  readonly before?: Date
}

/** The meaning of a query parameter that filters by a field. */
export interface Filter {
  /** As in the published document. The parameter is not parsed, because of lists and wildcards. */
  readonly schema: TUnsafe<string>
  /**
   * @returns Null if it filters nothing, as an empty text does.
   * @throws AppError invalid naming the field.
   */
  readonly parse: (field: string, text: string) => Condition | null
}

/** The filters of a search by the names of their parameters. */
export type Filters = Readonly<Record<string, Filter>>

/** The conditions that a query sets; a missing one admits everything. */
export type Conditions<F extends Filters> = { readonly [Name in keyof F]?: Condition }

/** Characters of one parameter: a thousand MAC addresses with colons don't fit into the head of a request anyway. */
export const MAX_FILTER_CHARACTERS = 8000
/** Each alternative with a wildcard is compared with each row. */
export const MAX_PATTERNS = 10
export const MAX_VALUES = 500
/** Longer than every name and number that is stored. */
const MAX_VALUE_CHARACTERS = 200
const MAX_WILDCARDS = 5

/** Keyword of a schema whose parameter is checked by its filter. */
export const FILTER = 'x-filter'

/** The published schema of a parameter that is checked by its filter. */
export function schemaOf(schema: TSchema, description: string): TUnsafe<string> {
  return Type.Unsafe<string>({ ...schema, description, [FILTER]: true })
}

export function sentence(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join('; ')
}

const WILDCARDS = '`*` stands for any characters: `prefix*`, `*part*`'
const LISTS = 'several are separated by commas'

export interface TextOptions {
  /** The description in the document, beyond the grammar. */
  readonly about?: string
  /** False: a comma is a character of the text. */
  readonly list?: boolean
}

/** An exact text, or one with wildcards. */
export function text({ about, list = true }: TextOptions = {}): Filter {
  return {
    schema: schemaOf(Type.String(), sentence(about, WILDCARDS, list ? LISTS : '')),
    parse: (field, given) => alternativesOf(field, list ? itemsOf(field, given) : [boundedOf(field, given)], false),
  }
}

interface SpelledOptions {
  readonly about: string
  /** Returns a value in the spelling of stored ones; wildcards remain. */
  readonly spell: (item: string) => string
  /** Returns why no stored value can have this spelling; null if one may. It is not called for wildcards. */
  readonly faultOf?: (item: string) => string | null
}

/** Texts that clients spell in several ways, and that are stored in one. */
export function spelled({ about, spell, faultOf = () => null }: SpelledOptions): Filter {
  return {
    schema: schemaOf(Type.String(), sentence(about, 'in any spelling', WILDCARDS, LISTS)),
    parse(field, given) {
      const items = itemsOf(field, given)
      for (const item of items) {
        const fault = item.includes('*') ? null : faultOf(item)
        if (fault !== null) throw invalidField(field, fault)
      }
      return alternativesOf(field, items.map(spell), false)
    },
  }
}

/** A part of a text in any case; one with wildcards must match as a whole. */
export function part({ about, list = true }: TextOptions = {}): Filter {
  const parts = sentence(about, 'a part of it, in any case', WILDCARDS, list ? LISTS : '')
  return {
    schema: schemaOf(Type.String(), parts),
    parse: (field, given) => {
      const items = list ? itemsOf(field, given) : [boundedOf(field, given)]
      const whole = items.map((item) => (item === '' || item.includes('*') ? item : `*${item}*`))
      return alternativesOf(field, whole, true)
    },
  }
}

/** MAC addresses in any spelling. */
export function mac({ about }: Pick<TextOptions, 'about'> = {}): Filter {
  return {
    schema: schemaOf(Type.String(), sentence(about, 'a MAC address in any spelling', WILDCARDS, LISTS)),
    parse: (field, given) =>
      alternativesOf(
        field,
        itemsOf(field, given).map((item) => plainMac(field, item)),
        false,
      ),
  }
}

function plainMac(field: string, item: string): string {
  const plain = item.toLowerCase().replaceAll(/[-:.]/g, '')
  const digits = plain.replaceAll('*', '')
  if (/^[0-9a-f]{12}$/.test(plain) || (plain !== digits && /^[0-9a-f]{0,12}$/.test(digits))) return plain
  throw invalidField(field, `${quote(item)} is not a MAC address, nor a part of one with \`*\``)
}

/** UUIDs. */
export function id({ about }: Pick<TextOptions, 'about'> = {}): Filter {
  return {
    schema: schemaOf(Type.String({ format: 'uuid' }), sentence(about, LISTS)),
    parse: (field, given) => valuesOf(itemsOf(field, given).map((item) => plainId(field, item))),
  }
}

function plainId(field: string, item: string): string {
  if (isUuid(item)) return item.toLowerCase()
  throw invalidField(field, `${quote(item)} is not a UUID`)
}

interface NumberOptions {
  readonly about?: string
  readonly integer?: boolean
}

/** Numbers. Zero filters nothing: clients send it for "not set". */
export function number({ about, integer = true }: NumberOptions = {}): Filter {
  const schema = integer ? Type.Integer() : Type.Number()
  return {
    schema: schemaOf(schema, sentence(about, LISTS, '0 filters nothing')),
    parse: (field, given) => {
      const numbers = itemsOf(field, given).map((item) => plainNumber(field, item, integer))
      return valuesOf(numbers.filter((value) => value !== 0))
    },
  }
}

function plainNumber(field: string, item: string, integer: boolean): number {
  const known = integer ? /^-?\d{1,9}$/ : /^-?\d{1,9}(\.\d{1,9})?$/
  if (known.test(item)) return Number(item)
  throw invalidField(field, `${quote(item)} is not ${integer ? 'an integer' : 'a number'} of at most nine digits`)
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

interface OpenOptions {
  /** True: the contract has any text here. One that no row can have matches none, and is not refused. */
  readonly anyText?: boolean
}

export const ANY_TEXT = 'any other text matches none'

/** Booleans, as the clients of several languages write them. */
export function flag({ about, anyText = false }: Pick<TextOptions, 'about'> & OpenOptions = {}): Filter {
  return {
    schema: anyText
      ? schemaOf(Type.String(), sentence(about, '`true` or `false`', LISTS, ANY_TEXT))
      : schemaOf(Type.Boolean(), sentence(about, LISTS)),
    parse: (field, given) => {
      const items = itemsOf(field, given)
      const known = items.flatMap((item) => booleans.get(item.toLowerCase()) ?? [])
      const wrong = items.find((item) => !booleans.has(item.toLowerCase()))
      if (wrong !== undefined && !anyText) throw invalidField(field, `${quote(wrong)} must be true or false`)
      return items.length > 0 && known.length === 0 ? matchesNone : valuesOf(known)
    },
  }
}

interface ChoiceOptions extends OpenOptions {
  readonly about?: string
  /** The value that filters nothing. */
  readonly all?: string
  /** The meaning of a missing parameter, for the document; the search's `defaults` implement it. */
  readonly default?: string
}

/** Values of a closed set, in any case. */
export function choice(allowed: readonly string[], options: ChoiceOptions = {}): Filter {
  const { about, all, anyText = false, default: usual } = options
  const choices = all === undefined ? allowed : [all, ...allowed]
  const spellings = new Map(choices.map((value) => [value.toLowerCase(), value]))
  const published = usual === undefined ? {} : { default: usual }
  const known = choices.map((value) => `\`${value}\``).join(' or ')
  return {
    schema: anyText
      ? schemaOf(Type.String(published), sentence(about, known, LISTS, ANY_TEXT))
      : schemaOf(Type.Enum([...choices], published), sentence(about, LISTS)),
    parse: (field, given) => {
      const items = itemsOf(field, given).map((item) => spellings.get(item.toLowerCase()) ?? item)
      const wrong = items.find((item) => !choices.includes(item))
      if (wrong !== undefined && !anyText)
        throw invalidField(field, `${quote(wrong)} must be one of ${choices.join(', ')}`)
      return all !== undefined && items.includes(all) ? null : valuesOf(items)
    },
  }
}

/** The values between commas. */
function itemsOf(field: string, given: string): string[] {
  if (given.length > MAX_FILTER_CHARACTERS)
    throw invalidField(field, `has ${given.length} characters, and at most ${MAX_FILTER_CHARACTERS} are allowed`)
  const items = given.split(',').map((item) => boundedOf(field, item.trim()))
  const distinct = [...new Set(items.filter((item) => item !== ''))]
  if (distinct.length > MAX_VALUES)
    throw invalidField(field, `has ${distinct.length} values, and at most ${MAX_VALUES} are allowed`)
  return distinct
}

export function boundedOf(field: string, item: string): string {
  if (item.length <= MAX_VALUE_CHARACTERS) return item
  throw invalidField(field, `a value has ${item.length} characters, and at most ${MAX_VALUE_CHARACTERS} are allowed`)
}

function alternativesOf(field: string, items: readonly string[], anyCase: boolean): Alternatives | null {
  const given = items.filter((item) => item !== '')
  if (given.length === 0) return null
  const patterns = given.filter((item) => item.includes('*')).map((item) => item.replaceAll(/\*+/g, '*').split('*'))
  if (patterns.length > MAX_PATTERNS)
    throw invalidField(field, `has ${patterns.length} values with \`*\`, and at most ${MAX_PATTERNS} are allowed`)
  if (patterns.some((pattern) => pattern.length - 1 > MAX_WILDCARDS))
    throw invalidField(field, `a value has more than ${MAX_WILDCARDS} wildcards`)
  return { values: given.filter((item) => !item.includes('*')), patterns, anyCase }
}

export const matchesNone: Alternatives = { values: [], patterns: [], anyCase: false }

function valuesOf(values: readonly (string | number | boolean)[]): Alternatives | null {
  return values.length === 0 ? null : { values, patterns: [], anyCase: false }
}

export function quote(item: string): string {
  return JSON.stringify(item.slice(0, 50))
}

/** The schemas of the filters' parameters. */
export function filterQuery<F extends Filters>(filters: F) {
  const entries = Object.entries(filters).map(([name, { schema }]) => [name, Type.Optional(schema)])
  return Object.fromEntries(entries) as { [Name in keyof F]: TOptional<TUnsafe<string>> }
}

/** @throws AppError invalid naming the field. */
export function parseFilters<F extends Filters>(
  filters: F,
  query: { readonly [Name in keyof F]?: string },
): Conditions<F> {
  const parsed = Object.entries(filters).map(([name, filter]) => {
    const given: string | undefined = query[name]
    return [name, given === undefined ? null : filter.parse(name, given)] as const
  })
  return Object.fromEntries(parsed.filter(([, condition]) => condition !== null)) as Conditions<F>
}
