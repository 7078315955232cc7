import { iso31661, iso31662 } from 'iso-3166'
import { invalidField } from '../../platform/errors.ts'

export interface Country {
  readonly alpha2: string
  readonly name: string
  readonly numeric: number
}

/** Lists countries by name. Source: ISO 3166-1. */
export function listCountries(): Country[] {
  return iso31661
    .map(({ alpha2, name, numeric }) => ({ alpha2, name, numeric: Number(numeric) }))
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
}

/**
 * Lists states, provinces and their like by name; some countries have none. Source: ISO 3166-2.
 * @throws AppError invalid for a code that no country has.
 */
export function listStates(countryCode: string): { readonly code: string; readonly name: string }[] {
  const country = countryCode.toUpperCase()
  if (!iso31661.some(({ alpha2 }) => alpha2 === country))
    throw invalidField('country_code', 'must be the two letters of a country')
  return iso31662
    .filter(({ parent }) => parent === country)
    .map(({ code, name }) => ({ code, name }))
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
}

/** BCP 47 tags of written languages with many readers; a setting may name others too. */
const languageTags = [
  'ar',
  'bg',
  'bn',
  'ca',
  'cs',
  'da',
  'de',
  'el',
  'en',
  'en-GB',
  'en-US',
  'es',
  'et',
  'fi',
  'fr',
  'fr-CA',
  'he',
  'hi',
  'hr',
  'hu',
  'id',
  'is',
  'it',
  'ja',
  'ko',
  'lt',
  'lv',
  'ms',
  'nb',
  'nl',
  'pl',
  'pt',
  'pt-BR',
  'ro',
  'ru',
  'sk',
  'sl',
  'sr',
  'sv',
  'th',
  'tr',
  'uk',
  'vi',
  'zh-Hans',
  'zh-Hant',
]

export interface Language {
  readonly tag: string
  /** In English. */
  readonly name: string
  /** In the language itself. */
  readonly ownName: string
}

/** Lists languages by tag, with the names that the Unicode consortium gives them. */
export function listLanguages(): Language[] {
  const english = new Intl.DisplayNames('en', { type: 'language' })
  return languageTags.map((tag) => ({
    tag,
    name: english.of(tag) ?? tag,
    ownName: new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag,
  }))
}
