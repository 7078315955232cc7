import { Problem, detailOf, isAwayStatus } from './problem.ts'
import type { Server } from './client.ts'

export interface Upload {
  /** Path and query. */
  readonly path: string
  /** A form is sent in parts. */
  readonly file: Blob | FormData
  /** Ends the upload. */
  readonly signal: AbortSignal
  /** Called with the share of the file that has been sent, 0 to 1. */
  readonly onProgress: (share: number) => void
}

/**
 * Sends a file as the body of a POST, with the session of the browser. `fetch` does not report the progress of an
 * upload.
 * @returns The answer. @throws Problem for any answer but a success, and if the upload was aborted.
 */
export function uploadFile(
  { reachability, session }: Pick<Server, 'reachability' | 'session'>,
  { path, file, signal, onProgress }: Upload,
): Promise<unknown> {
  const request = new XMLHttpRequest()
  const end = (): void => request.abort()
  return new Promise<unknown>((resolve, reject) => {
    request.open('POST', path)
    // The browser names the boundary of the parts of a form.
    if (file instanceof Blob) request.setRequestHeader('content-type', 'application/octet-stream')
    request.setRequestHeader('x-csrftoken', session.token() ?? '')
    request.responseType = 'json'
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total))
    request.addEventListener('abort', () => reject(new Problem(0, 'The upload was ended.')))
    request.addEventListener('error', () => {
      reachability.suspect()
      reject(new Problem(0, detailOf(null, 0)))
    })
    request.addEventListener('load', () => {
      const { status, response } = request
      if (isAwayStatus(status)) reachability.suspect()
      if (status >= 200 && status < 300) resolve(response)
      else reject(new Problem(status, detailOf(response, status), response))
    })
    signal.addEventListener('abort', end)
    request.send(file)
  }).finally(() => signal.removeEventListener('abort', end))
}
