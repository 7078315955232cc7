import type { AnyJson } from '../support/contract/any-json.ts'
import type { Form } from '../support/contract/documented-forms.ts'
import type { Meaning } from './meanings.ts'

/** A value of a parameter, and which rows it must find. */
export interface Asked {
  readonly value: string
  readonly matches: (row: AnyJson) => boolean
}

type Valued = Extract<Meaning, { readonly of: unknown }>

/** The forms of a parameter with the values that rows have: exact, and those that its meaning and the SDK know. */
export function formsOf(meaning: Meaning, rows: readonly AnyJson[], documented: readonly Form[]): Asked[] {
  if (meaning.kind === 'refused') return []
  if (meaning.kind === 'none') return [{ value: meaning.value, matches: () => false }]
  if (meaning.kind === 'same') return [{ value: meaning.value, matches: () => true }]
  if (meaning.kind === 'is') return [meaning]
  const known = [...new Set(rows.flatMap((row) => textsOf(meaning, row)))]
  // Values with a comma first, where it belongs to the text.
  const values =
    meaning.list === false
      ? known.toSorted((a, b) => Number(b.includes(',')) - Number(a.includes(',')))
      : known.filter((value) => !value.includes(','))
  const [first, second] = values
  if (first === undefined) return meaning.kind === 'id' ? [] : [asking(meaning, 'x*')]
  const lists = meaning.list === false ? [] : [`${first},${second ?? first}`]
  if (meaning.kind === 'id' || meaning.kind === 'choice')
    return [first, ...lists].map((value) => asking(meaning, value))
  const middle = Math.floor(first.length / 3)
  const texts = [
    `${first.slice(0, middle + 1)}*`,
    `*${first.slice(middle, middle + 3)}*`,
    `*${first.slice(-2)}`,
    ...(meaning.list === false ? [] : [`${first.slice(0, 2)}*,${second ?? first}`]),
    ...(meaning.kind === 'mac' || meaning.known === true ? [] : ['nothing-of-it']),
    ...(meaning.kind === 'part' || documented.includes('plain part') ? [first.slice(middle).toUpperCase()] : []),
    ...(meaning.kind === 'mac' ? ['0123456789a*', first.toUpperCase().replaceAll(/(..)(?!$)/g, '$1:')] : []),
  ]
  return [first, ...lists, ...texts].map((value) => asking(meaning, value))
}

function textsOf(meaning: Valued, row: AnyJson): string[] {
  return [meaning.of(row)]
    .flat()
    .flatMap((value) => (value === undefined || value === null || value === '' ? [] : [String(value)]))
}

function asking(meaning: Valued, value: string): Asked {
  const fold = (text: string): string => (meaning.kind === 'part' ? text.toLowerCase() : text)
  const plain = meaning.kind === 'mac' ? value.toLowerCase().replaceAll(':', '') : value
  const patterns = (meaning.list === false ? [plain] : plain.split(',')).map((item) => {
    const open = meaning.kind === 'part' && !item.includes('*') ? `*${item}*` : item
    return new RegExp(`^${fold(open).split('*').map(escape).join('.*')}$`, 's')
  })
  return {
    value,
    matches: (row) => textsOf(meaning, row).some((text) => patterns.some((pattern) => pattern.test(fold(text)))),
  }
}

function escape(text: string): string {
  return text.replaceAll(/[^\w]/g, String.raw`\$&`)
}
