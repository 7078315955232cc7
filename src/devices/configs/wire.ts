import { type Static, Type } from 'typebox'
import { filterQuery, mac, parseFilters, part, text } from '../../http/lists/filters.ts'
import { parsePage } from '../../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../../http/schemas.ts'
import { distinctParameter, parseTimeRange, sortParameter, pagedSearchQuery } from '../../http/lists/search.ts'
import { DeviceTypeName } from '../wire.ts'

const Texts = Type.Optional(Type.Array(Type.String()))

/** Source: contract, `response_config_history_search_item`. */
export const DeviceConfigReply = named(
  'DeviceConfig',
  Type.Object({
    timestamp: Timestamp,
    version: Type.String(),
    channel_24: Type.Integer(),
    channel_5: Type.Integer(),
    secpolicy_violated: Type.Boolean(),
    radio_macs: Texts,
    radios: Type.Optional(
      Type.Array(named('ConfiguredRadio', Type.Object({ band: Type.String(), channel: Type.Integer() }))),
    ),
    ssids: Texts,
    ssids_24: Texts,
    ssids_5: Texts,
    wlans: Type.Optional(
      Type.Array(
        named(
          'ConfiguredWlan',
          Type.Object({ id: Uuid, ssid: Type.String(), auth: Type.String(), bands: Texts, vlan_ids: Texts }),
        ),
      ),
    ),
  }),
)

const configSorts = ['timestamp', 'version', 'channel_24', 'channel_5', 'secpolicy_violated'] as const
const search = { ...pagedSearchQuery, sort: sortParameter(configSorts, 'timestamp') }
const lastFilters = { mac: mac(), name: part(), version: text() }
const historyFilters = { mac: mac() }

export const LastConfigsSearch = Type.Object({
  ...search,
  ...filterQuery(lastFilters),
  device_type: Type.Optional(Type.Enum(['ap', 'gateway', 'switch', 'mxedge'], { default: 'ap' })),
  // Not in the contract: newer clients have it.
  cert_expiry_duration: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'such as 2d, 3h or 172800; matches none: devices report no certificates',
    }),
  ),
})
export const ConfigHistorySearch = Type.Object({
  ...search,
  ...filterQuery(historyFilters),
  type: Type.Optional(DeviceTypeName),
})

/** @throws AppError invalid naming the field. */
export function parseLastConfigs(query: Static<typeof LastConfigsSearch>, now: Date) {
  parseFilters(lastFilters, query)
  return { ...parseTimeRange(query, now), ...parsePage(query) }
}

/** @throws AppError invalid naming the field. */
export function parseConfigHistory(query: Static<typeof ConfigHistorySearch>, now: Date) {
  parseFilters(historyFilters, query)
  return { ...parseTimeRange(query, now), ...parsePage(query) }
}

const count = {
  ...pagedSearchQuery,
  distinct: distinctParameter(['mac', 'name', 'site_id', 'version'], 'mac'),
}
const OrgLastConfigsCount = Type.Object({ ...count, type: Type.Optional(DeviceTypeName) })
const SiteLastConfigsCount = Type.Object(count)
export const LastConfigsCount = { org: OrgLastConfigsCount, site: SiteLastConfigsCount }
export const ConfigHistoryCount = Type.Object({
  ...count,
  ...filterQuery(historyFilters),
  distinct: Type.Optional(
    Type.String({ maxLength: 100, default: 'mac', description: 'the field whose values are counted' }),
  ),
})

/** @throws AppError invalid naming the field. */
export function parseConfigCount(query: Static<typeof ConfigHistoryCount>, now: Date) {
  parseFilters(historyFilters, query)
  return { ...parseTimeRange(query, now), ...parsePage(query), distinct: query.distinct ?? 'mac' }
}
