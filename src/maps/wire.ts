import { type Static, Type } from 'typebox'
import { type Conditions, filterQuery, parseFilters } from '../http/lists/filters.ts'
import { pageQuery } from '../http/lists/lists.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { textOf } from '../http/texts.ts'
import { epochS } from '../platform/time/clock.ts'
import type { Context } from '../platform/context.ts'
import { invalidField } from '../platform/errors.ts'
import { isObject } from '../platform/json/is-object.ts'
import { imageUrl } from '../platform/images/image-url.ts'
import { mapFilters } from './filters.ts'
import type { WayfindingLink } from './link-wayfinding.ts'
import type { SiteMap } from './map.ts'

export const mapParams = { map_id: Uuid }

/** Bounded, because the database would return a larger number as another. */
const Whole = (options: { minimum?: number; maximum?: number; description?: string } = {}) =>
  Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, ...options })

const open = { additionalProperties: true }

const LatLng = (corner: string) =>
  Type.Object(
    { lat: Type.Optional(Type.String()), lng: Type.Optional(Type.String()) },
    { ...open, description: `${corner} bounds; applies where type is google (map_vendor)` },
  )

/** Positions are whole pixels in the specification, but clients send fractions. */
const Node = named(
  'MapNode',
  Type.Object(
    {
      edges: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'by the name of the other node' })),
      name: Type.Optional(Type.String()),
      position: Type.Optional(
        named('MapPosition', Type.Object({ x: Type.Optional(Type.Number()), y: Type.Optional(Type.Number()) }, open)),
      ),
    },
    open,
  ),
)
const pathFields = { coordinate: Type.Optional(Type.String()), nodes: Type.Optional(Type.Array(Node)) }
const Path = named('MapPath', Type.Object(pathFields, open))

const WayfindingVendor = named(
  'WayfindingVendor',
  Type.Object(
    {
      account_key: Type.Optional(Type.String()),
      default_level_id: Type.Optional(Whole()),
      map_id: Type.Optional(Type.String()),
    },
    open,
  ),
)

const Geofence = named(
  'MapGeofence',
  Type.Object(
    {
      name: Type.Optional(Type.String()),
      vertices: Type.Optional(
        Type.Array(
          named('MapVertex', Type.Object({ X: Type.Optional(Type.Number()), Y: Type.Optional(Type.Number()) }, open)),
        ),
      ),
    },
    open,
  ),
)

/**
 * The fields that a client may set. Fields that apply only to another `type` are stored too, because clients write a
 * map field by field, in any order. Two names for one thing (`google` and `map_vendor`, `micello` and `mapvendor`) come
 * from two releases of the interface; each is stored and answered as it was sent. Source: spec, "Map"; contract, `map`;
 * addendum.
 */
const fields = {
  flags: Type.Optional(
    named(
      'MapFlags',
      Type.Object(
        {
          assetHoldTime: Type.Optional(Whole({ description: 'default 0; stored without effect' })),
          storeTime: Type.Optional(Whole({ description: 'default 0; stored without effect' })),
        },
        { additionalProperties: Whole() },
      ),
    ),
  ),
  geofences: Type.Optional(Type.Array(Geofence)),
  group_idx: Type.Optional(Whole({ description: 'later name of mapstack_floor' })),
  group_name: Type.Optional(Type.String({ description: 'later name of mapstack_id' })),
  height: Type.Optional(Whole({ description: 'pixels; applies where type is image' })),
  height_m: Type.Optional(Type.Number()),
  latlng_br: Type.Optional(LatLng('bottom-right')),
  latlng_tl: Type.Optional(LatLng('top-left')),
  locked: Type.Optional(Type.Boolean({ description: 'default false' })),
  mapstack_floor: Type.Optional(Whole({ minimum: 0 })),
  mapstack_id: Type.Optional(Uuid),
  name: Type.Optional(Type.String()),
  occupancy_limit: Type.Optional(Whole()),
  orientation: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 359, description: 'default 0; 0: up is north, 90: up is west' }),
  ),
  origin_x: Type.Optional(Whole({ description: 'pixels' })),
  origin_y: Type.Optional(Whole({ description: 'pixels' })),
  ppm: Type.Optional(Type.Number({ description: 'pixels per meter; applies where type is image' })),
  type: Type.Optional(Type.Enum(['image', 'google', 'map_vendor'], { description: 'default image' })),
  view: Type.Optional(
    Type.Union([Type.Enum(['hybrid', 'roadmap', 'satellite', 'terrain']), Type.Null()], {
      description: 'applies where type is google (map_vendor)',
    }),
  ),
  wall_path: Type.Optional(Path),
  wayfinding: Type.Optional(
    named(
      'MapWayfinding',
      Type.Object(
        {
          mapvendor: Type.Optional(WayfindingVendor),
          micello: Type.Optional(WayfindingVendor),
          snap_to_path: Type.Optional(Type.Boolean()),
        },
        open,
      ),
    ),
  ),
  wayfinding_path: Type.Optional(Path),
  width: Type.Optional(Whole({ description: 'pixels; applies where type is image' })),
  width_m: Type.Optional(Type.Number()),
}

const surveyPathFields = { ...pathFields, name: Type.Optional(Type.String()) }
const SurveyPath = named('MapSurveyPath', Type.Object({ ...surveyPathFields, id: Uuid }, open))
const SurveyPathBody = named(
  'MapSurveyPathUpdate',
  Type.Object(
    {
      ...surveyPathFields,
      id: Type.Optional(
        Type.Union([Uuid, Type.Literal(''), Type.Null()], { description: 'the service gives one to a path without' }),
      ),
    },
    open,
  ),
)

export const MapBody = named(
  'SiteMapUpdate',
  Type.Object({ ...fields, sitesurvey_path: Type.Optional(Type.Array(SurveyPathBody)) }, open),
)

export const MapsQuery = Type.Object({ ...pageQuery, ...filterQuery(mapFilters) })

/** @throws AppError invalid naming the field. */
export function parseMaps(query: Static<typeof MapsQuery>): Conditions<typeof mapFilters> {
  return parseFilters(mapFilters, query)
}

export const MapReply = named(
  'SiteMap',
  Type.Object(
    {
      ...fields,
      sitesurvey_path: Type.Optional(Type.Array(SurveyPath)),
      id: Uuid,
      org_id: Uuid,
      site_id: Uuid,
      for_site: Type.Boolean(),
      url: Type.Optional(Type.String({ description: 'where there is an image; works for an hour at least' })),
      thumbnail_url: Type.Optional(Type.String()),
      created_time: Timestamp,
      modified_time: Timestamp,
    },
    open,
  ),
)

/** Defaults of the specification, which its clients expect even if they were never set. */
const defaults = { locked: false, orientation: 0, type: 'image' as const }
const defaultFlags = { assetHoldTime: 0, storeTime: 0 }

/** The image replaces the thumbnail until the job has made it. */
export function presentMap(ctx: Context, map: SiteMap): Static<typeof MapReply> {
  const { doc, id, orgId, siteId, image, thumbnail, createdAt, modifiedAt } = map
  return {
    ...defaults,
    ...doc,
    flags: { ...defaultFlags, ...(isObject(doc['flags']) && doc['flags']) },
    id,
    org_id: orgId,
    site_id: siteId,
    for_site: true,
    ...(image !== null && { url: imageUrl(ctx, image), thumbnail_url: imageUrl(ctx, thumbnail ?? image) }),
    created_time: epochS(createdAt),
    modified_time: epochS(modifiedAt),
  }
}

/** Source: contract, `bulkAssignSiteApsToMap`. */
export const SetMapBody = named(
  'MapPlacement',
  Type.Object({ macs: Type.Array(textOf('mac'), { minItems: 1, maxItems: 1000, uniqueItems: true }) }),
)
export const SetMapReply = named(
  'MapPlacementResult',
  Type.Object({ locked: Type.Array(Type.String()), moved: Type.Array(Type.String()) }),
)

const ofJibestream = { description: 'of jibestream' }
/** Fields of jibestream alone. They are declared so that its requests are refused for their vendor, not for a field. */
const jibestream = {
  client_id: Type.Optional(Type.String(ofJibestream)),
  client_secret: Type.Optional(Type.String(ofJibestream)),
  customer_id: Type.Optional(Whole(ofJibestream)),
  endpoint_url: Type.Optional(Type.String(ofJibestream)),
  mmpp: Type.Optional(Type.Number(ofJibestream)),
  ppm: Type.Optional(Type.Number(ofJibestream)),
  venue_id: Type.Optional(Whole(ofJibestream)),
}

/**
 * `micello` and `mapvendor` are one service. Maps of jibestream would have to be fetched by the server, so they are
 * refused. Source: contract, `importSiteWayfindings`.
 */
export const WayfindingImportBody = named(
  'WayfindingImport',
  Type.Object({
    vendor_name: Type.Enum(['micello', 'mapvendor', 'jibestream'], {
      description:
        'jibestream is refused: the server would have to fetch its maps with the credentials of the customer',
    }),
    account_key: Type.Optional(Type.String()),
    default_level_id: Type.Optional(Whole()),
    map_id: Type.Optional(Uuid),
    ...jibestream,
  }),
)

/** @throws AppError invalid naming the field. */
export function parseWayfinding(body: Static<typeof WayfindingImportBody>): Omit<WayfindingLink, 'mapId'> {
  const { vendor_name: vendor, account_key, default_level_id, map_id, ...others } = body
  if (vendor === 'jibestream') throw invalidField('vendor_name', "maps of jibestream can't be fetched")
  const other = Object.keys(others).find((name) => name in jibestream)
  if (other !== undefined) throw invalidField(other, `is not a field of ${vendor}`)
  const account = { account_key, default_level_id, map_id }
  for (const [field, value] of Object.entries(account))
    if (value === undefined) throw invalidField(field, 'is required')
  return { vendor, account }
}
