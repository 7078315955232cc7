import { sql } from 'kysely'
import type { ImageSizes } from '../../platform/images/image-sizes.ts'
import { columnsOf, updateRows } from '../../platform/database/rows.ts'

const sizeColumns = columnsOf('mxedgeImage', { name: 'text', bytes: 'integer' })

export const mxedgeImageSizes: ImageSizes = {
  async listUnmeasured(reader) {
    const rows = await reader.selectFrom('mxedgeImage').select('name').where('bytes', '=', 0).execute()
    return rows.map(({ name }) => name)
  },
  update: (tx, sizes) => updateRows(tx, sizeColumns, sizes, { key: ['name'], where: sql`mxedge_image.bytes = 0` }),
}
