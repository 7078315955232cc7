import { type Static, Type } from 'typebox'
import { filterQuery, parseFilters } from '../../http/lists/filters.ts'
import { type Page, parsePage } from '../../http/lists/lists.ts'
import {
  type TimeRange,
  distinctParameter,
  parseSort,
  parseTimeRange,
  sortParameter,
  countQuery,
  pagedSearchQuery,
} from '../../http/lists/search.ts'
import { countFilters, counts, searchFilters, searchSorts } from './filters.ts'
import type { MxedgeCount, MxedgeSearch } from './store.ts'

export const MxedgeSearchQuery = Type.Object({
  ...pagedSearchQuery,
  ...filterQuery(searchFilters),
  sort: sortParameter(searchSorts, 'timestamp'),
})

export const MxedgeCountQuery = Type.Object({
  ...countQuery,
  ...filterQuery(countFilters),
  distinct: distinctParameter(counts, 'model'),
})

/**
 * The search finds present appliances whatever the time range: there is no history.
 * @throws AppError invalid naming the field.
 */
export function parseMxedgeSearch(query: Static<typeof MxedgeSearchQuery>, now: Date): MxedgeSearch & TimeRange & Page {
  return {
    ...parseTimeRange(query, now),
    ...parsePage(query),
    conditions: parseFilters(searchFilters, query),
    sort: parseSort(query.sort ?? 'timestamp'),
  }
}

/** @throws AppError invalid naming the field. */
export function parseMxedgeCount(query: Static<typeof MxedgeCountQuery>, now: Date): MxedgeCount & TimeRange {
  return {
    ...parseTimeRange(query, now),
    conditions: parseFilters(countFilters, query),
    distinct: query.distinct ?? 'model',
    limit: parsePage(query).limit,
  }
}
