import { invalidField } from '../errors.ts'
import { readBytes } from './byte-reader.ts'
import { stripJpeg } from './strip-jpeg.ts'
import { PNG_SIGNATURE, stripPng } from './strip-png.ts'

/**
 * Passes on only the data that is needed to show a picture: its pixels, its colors, and its orientation. Texts,
 * thumbnails, data of cameras and programs, and bytes after the picture's end are dropped before anything is written or
 * decoded: a decoder would load them, and unpack the compressed ones, as a whole. It buffers at most one chunk of the
 * stream and 64 KiB, and reads the stream to its end.
 * @throws AppError invalid for data that is neither PNG nor JPEG, and for a stream that ends before the picture.
 */
export async function* stripImage(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const reader = readBytes(chunks)
  const start = await reader.take(PNG_SIGNATURE.length)
  reader.unread(start)
  if (start.equals(PNG_SIGNATURE)) yield* stripPng(reader)
  else if (start.subarray(0, 3).toString('hex') === 'ffd8ff') yield* stripJpeg(reader)
  else throw invalidField('file', 'is neither PNG nor JPEG')
  while ((await reader.next()) !== null);
}
