import { type Static, Type } from 'typebox'
import { parseCsv } from '../../http/bodies/csv.ts'
import { Binary, named } from '../../http/schemas.ts'
import { check } from '../../http/validate.ts'
import { AppError } from '../../platform/errors.ts'
import { parseMac } from '../device.ts'
import type { Device } from '../store.ts'
import { DeviceReply, UpdateDeviceBody } from '../wire.ts'
import { parseTable } from './device-table.ts'
import {
  type ImportItem,
  type ImportKey,
  type ImportOutcome,
  type ImportRefusal,
  reasonAgainst,
} from './import-devices.ts'

/** A table of this many devices has half the size that a file may have. */
const MAX_ITEMS = 5000
export const MAX_TABLE_BYTES = 1024 * 1024

/** The body of an update, and the identity of the device. */
const ImportedDevice = named(
  'DeviceImport',
  Type.Object(
    {
      ...UpdateDeviceBody.properties,
      mac: Type.Optional(Type.String({ maxLength: 100, description: 'identifies the device' })),
      id: Type.Optional(Type.String({ maxLength: 100, description: 'identifies the device where there is no `mac`' })),
      serial: Type.Optional(Type.String({ maxLength: 100, description: 'likewise, where there is no `id` either' })),
    },
    { additionalProperties: true },
  ),
)

/** JSON, or a form with a CSV: see readForm() and parseTable(). Source: contract, `ap_import_json`. */
export const ImportBody = {
  content: {
    'application/json': { schema: Type.Array(ImportedDevice, { minItems: 1, maxItems: MAX_ITEMS }) },
    'multipart/form-data': {
      schema: Type.Object({
        file: Type.Unsafe<unknown>({ ...Binary, description: 'CSV, as the export makes it' }),
      }),
    },
  },
}

/** Parses a JSON body, which its schema has checked. @throws AppError as parseItems(). */
export function parseImport(body: unknown): ImportItem[] {
  const items = check(ImportBody.content['application/json'].schema, body)
  return parseItems(
    items.map((item, index) => ({ name: item.mac || item.id || item.serial || `item ${index}`, item, where: '' })),
  )
}

/** @throws AppError invalid for a malformed table; otherwise as parseItems(). */
export function parseImportTable(csv: Uint8Array): ImportItem[] {
  const rows = parseTable(parseCsv(csv, { field: 'file', required: ['mac'], maxRows: MAX_ITEMS }))
  return parseItems(rows.map(({ line, mac, item }) => ({ name: mac, item: { ...item, mac }, where: `line ${line}, ` })))
}

interface RawItem {
  readonly name: string
  readonly item: Readonly<Record<string, unknown>>
  /** The first words of an error's reason. */
  readonly where: string
}

/** @throws AppError invalid with all errors in parallel lists. */
function parseItems(raw: readonly RawItem[]): ImportItem[] {
  const items: ImportItem[] = []
  const refused: ImportRefusal[] = []
  for (const { name, item, where } of raw) {
    const wrong = reasonAgainst(() => check(ImportedDevice, item))
    const key = wrong ?? keyOf(item)
    if (typeof key === 'string') refused.push({ name, reason: where + key })
    else items.push({ name, key, change: { ...item, [key.field]: key.value } })
  }
  const [first, ...others] = refused
  if (first !== undefined) throw importError([first, ...others])
  return items
}

/** @returns The identity of the device of an item, or the reason why it has none. */
function keyOf({ mac, id, serial }: RawItem['item']): ImportKey | string {
  if (typeof mac === 'string' && (mac !== '' || (!id && !serial))) {
    const value = parseMac(mac)
    return value === null ? 'mac: is not a MAC address' : { field: 'mac', value }
  }
  if (typeof id === 'string' && id !== '') return { field: 'id', value: id.toLowerCase() }
  if (typeof serial === 'string' && serial !== '') return { field: 'serial', value: serial }
  return 'mac: is required where there is no id and no serial'
}

/** MACs as sent; `reason` runs parallel to `error`. */
function importError(refused: readonly [ImportRefusal, ...ImportRefusal[]]): AppError {
  const [{ name, reason }] = refused
  return new AppError('invalid', `No device was changed: ${name.slice(0, 100)} ${reason}`, {
    error: refused.map((one) => one.name),
    reason: refused.map((one) => one.reason),
  })
}

export const ImportReply = Type.Array(DeviceReply)

/** @throws AppError invalid with all errors in parallel lists. */
export function presentImport(
  outcome: ImportOutcome,
  present: (device: Device) => Static<typeof DeviceReply>,
): Static<typeof ImportReply> {
  if ('refused' in outcome) throw importError(outcome.refused)
  return outcome.devices.map(present)
}
