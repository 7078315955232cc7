import { type Static, type TSchema, Type } from 'typebox'
import { check } from '../../http/validate.ts'
import { AppError, invalidField } from '../../platform/errors.ts'
import { type Bundle, readDocument } from './bundle.ts'
import type { Floor, PlannedAp, Project } from './project.ts'

/**
 * Reads a project of Ekahau (`.esx`): a zip file of JSON documents that refer to each other by id, and of pictures
 * without extensions. The format is not published; this follows what projects contain.
 */
const open = { additionalProperties: true }
const Id = Type.String({ format: 'uuid' })
const Size = Type.Number({ exclusiveMinimum: 0, maximum: 1e6 })
const Coordinate = Type.Number({ minimum: -1e6, maximum: 1e6 })
const Name = Type.String({ maxLength: 500 })

const FloorPlans = Type.Object(
  {
    floorPlans: Type.Array(
      Type.Object(
        {
          id: Id,
          name: Name,
          width: Size,
          height: Size,
          metersPerUnit: Type.Optional(Type.Number({ minimum: 0, maximum: 1e6 })),
          imageId: Type.Optional(Type.String({ maxLength: 100 })),
          /** The bitmap that Ekahau renders where the picture itself is a vector drawing. */
          bitmapImageId: Type.Optional(Type.String({ maxLength: 100 })),
        },
        open,
      ),
      { maxItems: 100 },
    ),
  },
  open,
)

const AccessPoints = Type.Object(
  {
    accessPoints: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          name: Type.Optional(Name),
          /** False for neighbors' access points that a survey detected. */
          mine: Type.Optional(Type.Boolean()),
          location: Type.Optional(
            Type.Object(
              { floorPlanId: Type.String(), coord: Type.Object({ x: Coordinate, y: Coordinate }, open) },
              open,
            ),
          ),
        },
        open,
      ),
      { maxItems: 10_000 },
    ),
  },
  open,
)

const SimulatedRadios = Type.Object(
  {
    simulatedRadios: Type.Array(
      Type.Object(
        {
          accessPointId: Type.String(),
          antennaHeight: Type.Optional(Type.Number({ minimum: -1e6, maximum: 1e6 })),
          antennaDirection: Type.Optional(Type.Number({ minimum: -1e6, maximum: 1e6 })),
        },
        open,
      ),
      { maxItems: 100_000 },
    ),
  },
  open,
)

const Images = Type.Object(
  { images: Type.Array(Type.Object({ id: Type.String(), imageFormat: Type.Optional(Type.String()) }, open)) },
  open,
)

/** @throws AppError invalid naming the document and its field. */
export async function readEkahau(bundle: Bundle): Promise<Project> {
  const plans = await read(bundle, 'floorPlans.json', FloorPlans)
  if (plans === null) throw invalidField('file', 'is not an Ekahau project: it has no floorPlans.json')
  const accessPoints = await read(bundle, 'accessPoints.json', AccessPoints)
  const radios = await read(bundle, 'simulatedRadios.json', SimulatedRadios)
  const images = await read(bundle, 'images.json', Images)
  const formats = new Map(images?.images.map(({ id, imageFormat }) => [id, imageFormat ?? null]))
  const floors = plans.floorPlans.map((plan) => floorOf(plan, formats))
  const ids = new Set(floors.map(({ id }) => id))
  if (ids.size < floors.length) throw invalidField('file', 'floorPlans.json names a floor twice')
  const placed = placedAps(accessPoints?.accessPoints ?? [], radios?.simulatedRadios ?? [])
  return { floors, accessPoints: placed.filter(({ floorId }) => ids.has(floorId)) }
}

async function read<T extends TSchema>(bundle: Bundle, name: string, schema: T): Promise<Static<T> | null> {
  const value = await readDocument(bundle, name)
  if (value === undefined) return null
  try {
    return check(schema, value)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw invalidField('file', `${name}: ${error.message}, ${String(error.fields['reason'])}`)
  }
}

type Plan = Static<typeof FloorPlans>['floorPlans'][number]

function floorOf(plan: Plan, formats: ReadonlyMap<string, string | null>): Floor {
  const { id, name, width, height, metersPerUnit = 0, imageId, bitmapImageId } = plan
  const candidates = [imageId, bitmapImageId].filter((image) => image !== undefined)
  const drawn = candidates.find((image) => !isVectors(formats.get(image) ?? null))
  const note = candidates.length === 0 ? 'the project has no picture of it' : 'its picture is neither PNG nor JPEG'
  return {
    id: id.toLowerCase(),
    name,
    picture: drawn === undefined ? null : `image-${drawn}`,
    note: drawn === undefined ? note : null,
    size: { width, height },
    meters: metersPerUnit > 0 ? metersPerUnit : null,
  }
}

function isVectors(format: string | null): boolean {
  return format !== null && !/^(png|jpe?g)$/i.test(format)
}

function placedAps(
  accessPoints: Static<typeof AccessPoints>['accessPoints'],
  radios: Static<typeof SimulatedRadios>['simulatedRadios'],
): PlannedAp[] {
  // An access point has several radios in one housing; the position of the first counts.
  const firstRadios = new Map(radios.toReversed().map((radio) => [radio.accessPointId, radio]))
  return accessPoints.flatMap(({ id, name = '', mine = true, location }) => {
    if (!mine || location === undefined) return []
    const { antennaHeight = null, antennaDirection = null } = firstRadios.get(id) ?? {}
    const { floorPlanId, coord } = location
    const floorId = floorPlanId.toLowerCase()
    return [{ floorId, name, ...coord, height: antennaHeight, orientationDegrees: antennaDirection }]
  })
}
