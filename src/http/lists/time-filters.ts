import { Type } from 'typebox'
import { MAX_EPOCH_S } from '../../platform/time/clock.ts'
import { invalidField } from '../../platform/errors.ts'
import {
  ANY_TEXT,
  type Filter,
  type TextOptions,
  boundedOf,
  matchesNone,
  quote,
  schemaOf,
  sentence,
} from './filters.ts'

/** Epoch seconds, zero for none. @param bound Which instants match: those after it, or before it. */
export function time(bound: 'after' | 'before', { about }: Pick<TextOptions, 'about'> = {}): Filter {
  return {
    schema: schemaOf(Type.Integer({ minimum: 0 }), sentence(about, 'epoch seconds', '0 filters nothing')),
    parse: (field, given) => {
      const seconds = epochSecondsIn(given)
      if (seconds === null) throw invalidField(field, `${quote(given)} must be epoch seconds`)
      return seconds === 0 ? null : { [bound]: new Date(seconds * 1000) }
    },
  }
}

/** The second of an instant, in epoch seconds or as an ISO 8601 date with time and zone. */
export function second({ about }: Pick<TextOptions, 'about'> = {}): Filter {
  const forms = 'epoch seconds, or a date and time such as `2026-11-22T18:00:00Z`'
  return {
    schema: schemaOf(Type.String(), sentence(about, forms, '0 filters nothing', ANY_TEXT)),
    parse: (field, given) => {
      const text = boundedOf(field, given.trim())
      const seconds = epochSecondsIn(text) ?? dateSecondsIn(text)
      if (text === '' || seconds === 0) return null
      if (seconds === null) return matchesNone
      const start = Math.floor(seconds)
      return { from: new Date(start * 1000), before: new Date((start + 1) * 1000) }
    },
  }
}

function epochSecondsIn(text: string): number | null {
  const seconds = /^\d{1,12}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
  return seconds <= MAX_EPOCH_S ? seconds : null
}

/** A plus arrives as a space from clients that don't encode it. */
function dateSecondsIn(text: string): number | null {
  const [, day, time, zone = ''] =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[-+ ]\d\d:?\d\d)$/i.exec(text) ?? []
  if (day === undefined || time === undefined) return null
  const offset = zone.replace(' ', '+').replace(/^([-+]\d\d):?(\d\d)$/, '$1:$2')
  const seconds = Date.parse(`${day}T${time}${offset.toUpperCase()}`) / 1000
  return seconds >= 0 && seconds <= MAX_EPOCH_S ? seconds : null
}
