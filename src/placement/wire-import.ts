import { type Static, Type } from 'typebox'
import { type FormFields, jsonPart } from '../http/bodies/forms.ts'
import { Binary, NO_ID, Uuid, named } from '../http/schemas.ts'
import { closeBody } from '../http/bodies/closed-bodies.ts'
import { check } from '../http/validate.ts'
import { invalidField } from '../platform/errors.ts'
import type { ImportReport, Vendor } from './import/import-maps.ts'
import { parseMacsCsv } from './import/parse-csv.ts'
import type { ImportWish } from './import/project.ts'

/** `images` is Signalbox's own: a zip file of pictures only. Source: contract, `map_import_json`. */
const ImportPart = closeBody(
  named(
    'MapImport',
    Type.Object({
      vendor_name: Type.Enum(['ekahau', 'ibwave', 'images'], {
        description: 'ibwave is refused: its format is not public',
      }),
      import_all_floorplans: Type.Optional(Type.Boolean({ description: 'default false: those with access points' })),
      import_height: Type.Optional(Type.Boolean({ description: 'of access points; default true' })),
      import_orientation: Type.Optional(Type.Boolean({ description: 'of access points; default true' })),
      site_id: Type.Optional(Uuid),
    }),
  ),
)

/** For the document only: see readForm(). */
export const ImportForm = {
  content: {
    'multipart/form-data': {
      schema: Type.Object({
        file: Binary,
        csv: Type.Optional(Binary),
        json: Type.Optional(ImportPart),
        auto_deviceprofile_assignment: Type.Optional(Type.Boolean()),
      }),
    },
  },
}

export interface ParsedImport {
  readonly vendor: Vendor
  readonly wish: ImportWish
  /** The site that the form names; null if the path names it. */
  readonly siteId: string | null
}

/** @throws AppError invalid naming the part or its field. */
export function parseImport(fields: FormFields): ParsedImport {
  const part = check(ImportPart, jsonPart(fields, 'json'))
  const { vendor_name: vendor, import_all_floorplans: allFloors = false } = part
  if (vendor === 'ibwave') throw invalidField('vendor_name', "projects of ibwave can't be read; ekahau and images can")
  if (/^true$/i.test(fields['auto_deviceprofile_assignment'] ?? ''))
    throw invalidField('auto_deviceprofile_assignment', 'there are no device profiles')
  const { import_height: heights = true, import_orientation: orientations = true, site_id: siteId = null } = part
  return { vendor, wish: { allFloors, heights, orientations, macs: parseMacsCsv(fields['csv'] ?? '') }, siteId }
}

const Action = Type.Enum(['assigned-named-placed', 'assigned-placed', 'ignored', 'named-placed', 'placed'])

/** Source: contract, `response_map_import`. */
export const ImportReply = named(
  'MapImportResult',
  Type.Object({
    site_id: Uuid,
    for_site: Type.Boolean(),
    aps: Type.Array(
      named(
        'MapImportAp',
        Type.Object({
          mac: Type.String({ description: 'empty where no device is meant that is known here' }),
          name: Type.String({ description: 'in the project' }),
          action: Action,
          map_id: Uuid,
          floorplan_id: Uuid,
          orientation: Type.Integer(),
          height: Type.Optional(Type.Number()),
          reason: Type.Optional(Type.String()),
        }),
      ),
    ),
    floorplans: Type.Array(
      named(
        'MapImportFloorplan',
        Type.Object({
          id: Uuid,
          name: Type.String(),
          action: Type.Enum(['imported', 'ignored']),
          map_id: Type.String({ format: 'uuid', description: 'all zeros where it was ignored' }),
          reason: Type.Optional(Type.String()),
        }),
      ),
    ),
    summary: named(
      'MapImportSummary',
      Type.Object({
        num_ap_assigned: Type.Integer({ description: 'placed on a map' }),
        num_inv_assigned: Type.Integer({ description: 'of these, from the inventory' }),
        num_map_assigned: Type.Integer(),
      }),
    ),
  }),
)

export function presentImport({ siteId, imported, skipped, aps, assigned }: ImportReport): Static<typeof ImportReply> {
  return {
    site_id: siteId,
    for_site: true,
    aps: aps.map(({ ap, mapId, mac, action, reason, height, orientation }) => ({
      mac: mac ?? '',
      name: ap.name,
      action,
      map_id: mapId,
      floorplan_id: ap.floorId,
      orientation,
      ...(height !== null && { height }),
      ...(reason !== null && { reason }),
    })),
    floorplans: [
      ...imported.map(({ floor: { id, name, note }, mapId }) => ({
        id,
        name,
        action: 'imported' as const,
        map_id: mapId,
        ...(note !== null && { reason: note }),
      })),
      ...skipped.map(({ id, name }) => ({
        id,
        name,
        action: 'ignored' as const,
        map_id: NO_ID,
        reason: 'no access point lies on it',
      })),
    ],
    summary: {
      num_ap_assigned: aps.filter(({ action }) => action !== 'ignored').length,
      num_inv_assigned: assigned,
      num_map_assigned: imported.length,
    },
  }
}
