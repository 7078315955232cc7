/** The call of the API that returns the data on a page. */
export interface PageCall {
  /** Under /api/v1, with its query. */
  readonly path: string
  /** Of a POST; absent: it is a GET. */
  readonly body?: unknown
}

/** Returns a command line for a shell. A token is expected in its environment, so that none is in its history. */
export function curlText(origin: string, { path, body }: PageCall): string {
  const sent = body === undefined ? '' : ` -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`
  return `curl -H "Authorization: Token $API_TOKEN"${sent} ${quoted(`${origin}/api/v1${path}`)}`
}

/** Within single quotes a shell interprets nothing. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
