/** The share of the server and of the network that downloads of images may use. Built once in app/. */
export interface DownloadLimits {
  /** For all devices of one site together; null: no limit. */
  readonly siteBytesPerS: number | null
  /** The number of concurrent responses. */
  readonly atOnce: number
  /** How long a further request waits for its turn before it is refused. */
  readonly waitMs: number
  /** A device that needs longer for one chunk is disconnected. */
  readonly slowChunkMs: number
}

/** Access points do not repeat a refused download by themselves, so a request waits before it is refused. */
export const DEFAULT_DOWNLOAD_LIMITS: DownloadLimits = {
  siteBytesPerS: null,
  atOnce: 500,
  waitMs: 60_000,
  slowChunkMs: 120_000,
}
