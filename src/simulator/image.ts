import type { DownloadedImage } from './device.ts'

/** An image's first bytes, enough for its header line. */
export const HEADER_BYTES = 1024

const headerLine = /^SIGNALBOX-FIRMWARE model=(\S+) version=(\S.*?)\s*$/

/** The first line of an image for simulated devices, with its line end. */
export function imageHeader(models: readonly string[], version: string): string {
  return `SIGNALBOX-FIRMWARE model=${models.join(',')} version=${version}\n`
}

/** What tells the version of a downloaded file. */
export interface ImageFile {
  /** Its first `HEADER_BYTES`. */
  readonly head: Buffer
  /** Lower-case hex. */
  readonly sha256: string
  /** As the server calls the file (`Content-Disposition`). */
  readonly fileName: string | null
}

/**
 * Real images carry their version in a format of each vendor's own. Simulated devices take it from
 * the line `SIGNALBOX-FIRMWARE model=A,B version=V` at the image's begin. An image without one is for
 * every model, and its version is the name of the file without extension, or else 12 digits of its hash.
 */
export function readImage({ head, sha256, fileName }: ImageFile): DownloadedImage {
  const [line = ''] = head.subarray(0, HEADER_BYTES).toString('utf8').split('\n', 1)
  const [, models, version] = headerLine.exec(line) ?? []
  if (models !== undefined && version !== undefined) return { models: models.split(','), version }
  const named = fileName?.replace(/\.(bin|img|itb|tar|tgz|tar\.gz|upgrade)$/i, '') ?? ''
  return { models: null, version: named === '' ? `sha256-${sha256.slice(0, 12)}` : named }
}

/** The `filename` of a `Content-Disposition` header (RFC 6266), in either form. */
export function fileNameOf(contentDisposition: string | undefined): string | null {
  const text = contentDisposition ?? ''
  const encoded = /;\s*filename\*=UTF-8''((?:[^;%\s]|%[0-9a-f]{2})+)/i.exec(text)?.[1]
  if (encoded !== undefined) return decodePercent(encoded)
  return /;\s*filename="?([^";]+)"?/i.exec(text)?.[1]?.trim() ?? null
}

/** Null where the bytes are no UTF-8. */
function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
