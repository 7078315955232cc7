import { parse } from 'csv-parse/sync'
import { parseMac } from '../../devices/device.ts'
import { invalidField } from '../../platform/errors.ts'
import { messageOf } from '../../platform/message-of.ts'

/** The limit for the name of any device, because a placed device takes this name. */
const MAX_NAME = 200

/**
 * Parses which access point of a project is which device: rows of the project's name and a MAC, with or without a
 * header line. Source: contract, `importSiteMaps`.
 * @returns MACs, twelve lower-case hex digits, by name.
 * @throws AppError invalid naming the line.
 */
export function parseMacsCsv(text: string): Map<string, string> {
  const macs = new Map<string, string>()
  rowsOf(text).forEach(([name = '', mac = ''], index) => {
    const plain = parseMac(mac)
    if (plain === null && index === 0) return
    if (plain === null) throw invalidField('csv', `row ${index + 1}: "${mac.slice(0, 50)}" is not a MAC address`)
    if (name.length > MAX_NAME)
      throw invalidField('csv', `row ${index + 1}: the name has more than ${MAX_NAME} characters`)
    if (macs.has(name)) throw invalidField('csv', `row ${index + 1}: "${name.slice(0, 50)}" has a MAC already`)
    macs.set(name, plain)
  })
  return macs
}

function rowsOf(text: string): string[][] {
  try {
    return parse(text, { bom: true, trim: true, skip_empty_lines: true, relax_column_count: true })
  } catch (error) {
    throw invalidField('csv', messageOf(error))
  }
}
