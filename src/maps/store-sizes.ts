import { sql } from 'kysely'
import type { ImageSizes } from '../platform/images/image-sizes.ts'
import { columnsOf, updateRows } from '../platform/database/rows.ts'

const imageColumns = columnsOf('siteMap', { image: 'text', imageBytes: 'integer' })
const thumbnailColumns = columnsOf('siteMap', { thumbnail: 'text', thumbnailBytes: 'integer' })

export const mapImageSizes: ImageSizes = {
  async listUnmeasured(reader) {
    const { rows } = await sql<{ readonly name: string }>`
      select image as name from site_map where image is not null and image_bytes = 0
      union all select thumbnail from site_map where thumbnail is not null and thumbnail_bytes = 0`.execute(reader)
    return rows.map(({ name }) => name)
  },
  async update(tx, sizes) {
    const images = sizes.map(({ name, bytes }) => ({ image: name, imageBytes: bytes }))
    await updateRows(tx, imageColumns, images, { key: ['image'], where: sql`site_map.image_bytes = 0` })
    const thumbnails = sizes.map(({ name, bytes }) => ({ thumbnail: name, thumbnailBytes: bytes }))
    await updateRows(tx, thumbnailColumns, thumbnails, {
      key: ['thumbnail'],
      where: sql`site_map.thumbnail_bytes = 0`,
    })
  },
}
