/** The call of the API that returns the data on a page. */
export interface PageCall {
  /** Under /api/v1, or /operator/v1 for the operator, with its query. */
  readonly path: string
  readonly by?: 'operator'
  /** The body of a POST; absent for a GET. */
  readonly body?: unknown
}

/** Returns a command line for a shell. It takes the secret from the environment, so that none is in its history. */
export function curlText(origin: string, { path, by, body }: PageCall): string {
  const sent = body === undefined ? '' : ` -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`
  const [secret, root] =
    by === 'operator' ? ['Operator $OPERATOR_KEY', '/operator/v1'] : ['Token $API_TOKEN', '/api/v1']
  return `curl -H "Authorization: ${secret}"${sent} ${quoted(`${origin}${root}${path}`)}`
}

/** Within single quotes a shell interprets nothing. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
