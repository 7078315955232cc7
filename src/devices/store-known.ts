import { sql } from 'kysely'
import type { SitesScope } from '../access/scope.ts'
import type { Alternatives, Condition, Pattern } from '../http/lists/filters.ts'
import { conditionOn } from '../http/lists/store-filters.ts'
import type { Reader } from '../platform/database/db.ts'
import { deviceFields } from './store-fields.ts'
import { type DeviceFilter, counted } from './store-lists.ts'
import { valueCounts } from './store-value-counts.ts'

/** Replaces patterns of models and parts of versions by those that match. */
export async function withKnownValues(reader: Reader, scope: SitesScope, filter: DeviceFilter): Promise<DeviceFilter> {
  return withKnownVersions(reader, scope, await withKnownModels(reader, scope, filter))
}

/**
 * Replaces patterns of models by the matching models, which the counters know. PostgreSQL then knows how many devices a
 * list has, and that most patterns match none of another type.
 */
async function withKnownModels(reader: Reader, scope: SitesScope, filter: DeviceFilter): Promise<DeviceFilter> {
  const { model } = filter.counted
  if (model === undefined || !('patterns' in model) || model.patterns.length === 0) return filter
  const { rows } = await sql<{ model: string }>`
    select distinct model from device_count where count > 0 and ${counted(scope, 'device_count', filter)}
  `.execute(reader)
  const known: Condition = { ...model, values: rows.map((row) => row.model), patterns: [] }
  return { ...filter, counted: { ...filter.counted, model: known } }
}

/** A filter with more versions compares their patterns with each device. */
const MAX_VERSIONS = 500

/**
 * Replaces parts of versions by the versions that match, which the counters know: devices have few versions, and no index
 * has their parts.
 */
async function withKnownVersions(reader: Reader, scope: SitesScope, filter: DeviceFilter): Promise<DeviceFilter> {
  const place = filter.compared.findIndex(({ column }) => column === deviceFields.version)
  const condition = filter.compared[place]?.condition
  if (condition === undefined || !hasParts(condition)) return filter
  const counts = valueCounts(scope, 'version', { type: filter.counted.type, of: condition })
  const { rows } = await sql<{ value: string }>`
    select value from (${counts}) as known group by value having sum(count) > 0 limit ${MAX_VERSIONS + 1}
  `.execute(reader)
  if (rows.length > MAX_VERSIONS) return filter
  const known: Condition = { ...condition, values: rows.map(({ value }) => value), patterns: [] }
  const column = deviceFields.version
  return {
    ...filter,
    compared: filter.compared.with(place, { column, condition: known }),
    more: filter.more.with(place, conditionOn(column, known)),
  }
}

/** True if a pattern is more than a prefix. */
function hasParts(condition: Condition): condition is Alternatives {
  return 'patterns' in condition && condition.patterns.some((pattern) => !isPrefix(pattern))
}

function isPrefix([prefix, rest, ...more]: Pattern): boolean {
  return prefix !== '' && rest === '' && more.length === 0
}
