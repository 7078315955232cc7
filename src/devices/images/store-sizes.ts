import { sql } from 'kysely'
import type { ImageSizes } from '../../platform/images/image-sizes.ts'
import { columnsOf, updateRows } from '../../platform/database/rows.ts'

const sizeColumns = columnsOf('deviceImage', { name: 'text', bytes: 'integer' })

export const deviceImageSizes: ImageSizes = {
  async listUnmeasured(reader) {
    const rows = await reader.selectFrom('deviceImage').select('name').where('bytes', '=', 0).execute()
    return rows.map(({ name }) => name)
  },
  update: (tx, sizes) => updateRows(tx, sizeColumns, sizes, { key: ['name'], where: sql`device_image.bytes = 0` }),
}
