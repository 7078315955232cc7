/** Whether an OAuth provider leads back to the page, and with which code of the server. */
export interface AnswerSearch {
  readonly provider?: string
  readonly code?: string
}

/** The address of the page to sign in. */
export interface SignInSearch extends AnswerSearch {
  /** Where to go then. */
  readonly return?: string
}

type Given = Readonly<Record<string, unknown>>

export function parseAnswerSearch({ provider, code }: Given): AnswerSearch {
  return typeof provider === 'string' && typeof code === 'string' ? { provider, code } : {}
}

export function parseSignInSearch(search: Given): SignInSearch {
  return {
    ...parseAnswerSearch(search),
    ...(typeof search['return'] === 'string' && { return: search['return'] }),
  }
}
