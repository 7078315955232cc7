/** Tag of EXIF, type and count of its value: one unsigned number of two bytes. */
const ORIENTATION = 0x0112
const SHORT = 3
const ENTRY_BYTES = 12

/**
 * Returns EXIF data with only the orientation of the picture: no place, time, camera or thumbnail.
 * @param tiff EXIF data as in PNG's `eXIf` and JPEG's APP1 (after its `Exif\0\0`).
 * @returns Null if the picture is upright, or if nothing can be read: decoders ignore such data too.
 */
export function orientationOnly(tiff: Buffer): Buffer | null {
  const orientation = findOrientation(tiff)
  if (orientation === null || orientation < 2 || orientation > 8) return null
  const minimal = Buffer.alloc(26)
  minimal.write('MM\0*', 'latin1')
  minimal.writeUInt32BE(8, 4)
  minimal.writeUInt16BE(1, 8)
  minimal.writeUInt16BE(ORIENTATION, 10)
  minimal.writeUInt16BE(SHORT, 12)
  minimal.writeUInt32BE(1, 14)
  minimal.writeUInt16BE(orientation, 18)
  return minimal
}

/** Searches the first directory, where the tag belongs. */
function findOrientation(tiff: Buffer): number | null {
  const order = tiff.toString('latin1', 0, 4)
  if (order !== 'MM\0*' && order !== 'II*\0') return null
  const isBig = order === 'MM\0*'
  const read16 = (at: number): number => (isBig ? tiff.readUInt16BE(at) : tiff.readUInt16LE(at))
  if (tiff.length < 8) return null
  const directory = isBig ? tiff.readUInt32BE(4) : tiff.readUInt32LE(4)
  if (directory + 2 > tiff.length) return null
  const entries = read16(directory)
  for (let index = 0; index < entries; index += 1) {
    const at = directory + 2 + index * ENTRY_BYTES
    if (at + ENTRY_BYTES > tiff.length) return null
    if (read16(at) === ORIENTATION && read16(at + 2) === SHORT) return read16(at + 8)
  }
  return null
}
