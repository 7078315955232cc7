import type { DownloadedImage } from './ucentral/device.ts'

/** The number of bytes of an image that contain its header line. */
export const HEADER_BYTES = 1024

const headerLine = /^SIGNALBOX-FIRMWARE model=(\S+) version=(\S.*?)\s*$/

/** Returns the first line of an image for simulated devices, including the line end. */
export function imageHeader(models: readonly string[], version: string): string {
  return `SIGNALBOX-FIRMWARE model=${models.join(',')} version=${version}\n`
}

/** The parts of a downloaded file from which its version is read. */
export interface ImageFile {
  /** The first `HEADER_BYTES` of the file. */
  readonly head: Buffer
  /** Lower-case hex. */
  readonly sha256: string
  /** The server's name for the file (`Content-Disposition`). */
  readonly fileName: string | null
}

/**
 * Each vendor's images contain the version in a different format. Simulated devices read it from the line
 * `SIGNALBOX-FIRMWARE model=A,B version=V` at the start of the image. An image without that line suits
 * every model, and its version is the file name without extension, or else 12 digits of its hash.
 */
export function readImage({ head, sha256, fileName }: ImageFile): DownloadedImage {
  const [line = ''] = head.subarray(0, HEADER_BYTES).toString('utf8').split('\n', 1)
  const [, models, version] = headerLine.exec(line) ?? []
  if (models !== undefined && version !== undefined) return { sha256, models: models.split(','), version }
  const named = fileName?.replace(/\.(bin|img|itb|tar|tgz|tar\.gz|upgrade)$/i, '') ?? ''
  return { sha256, models: null, version: named === '' ? `sha256-${sha256.slice(0, 12)}` : named }
}

/** Returns the `filename` or `filename*` of a `Content-Disposition` header (RFC 6266). */
export function fileNameOf(contentDisposition: string | undefined): string | null {
  const text = contentDisposition ?? ''
  const encoded = /;\s*filename\*=UTF-8''((?:[^;%\s]|%[0-9a-f]{2})+)/i.exec(text)?.[1]
  if (encoded !== undefined) return decodePercent(encoded)
  return /;\s*filename="?([^";]+)"?/i.exec(text)?.[1]?.trim() ?? null
}

/** Returns null when the bytes are not UTF-8. */
function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
