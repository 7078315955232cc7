import type { Schemas } from '../../api/client.ts'

/** An access point answers before it uploads what it has collected. Later than this, it has failed to. */
const UPLOADED_WITHIN_S = 10 * 60

interface Known {
  readonly commands: readonly Pick<Schemas['DeviceCommand'], 'id' | 'kind' | 'status' | 'finished_time'>[]
  /** A file has the id of its command. */
  readonly files: readonly { readonly id: string }[]
}

/** True if a command to collect support files ended a short time ago, and its file has not arrived. */
export function isFileAwaited({ commands, files }: Known, nowMs: number): boolean {
  return commands.some(
    ({ id, kind, status, finished_time: finishedAt }) =>
      kind === 'support' &&
      (status === 'done' || status === 'unknown') &&
      finishedAt !== undefined &&
      nowMs / 1000 - finishedAt < UPLOADED_WITHIN_S &&
      files.every((file) => file.id !== id),
  )
}
