/** The answer of an external check. */
export interface CheckAnswer {
  /** Counts from 1. */
  readonly attempt: number
  /** Null: it gave no answer. */
  readonly status: number | null
  readonly body: string
  /** Why it gave no answer; null: it gave one. */
  readonly error: string | null
}

export type CheckVerdict =
  /** The next phase opens. */
  | { readonly kind: 'open'; readonly note: string | null }
  /** The upgrade stays paused, now for a person. */
  | { readonly kind: 'hold'; readonly reason: string }
  /** The check is asked again; `failure` is what it gave, to follow "the check". */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly failure: string }

const S = 1000
const M = 60 * S
/** Pauses after the first, second, ... attempt: those of webhooks, while a person may still be waiting. */
const pauses = [5 * S, 30 * S, 2 * M, 10 * M, 30 * M, 60 * M] as const
const MAX_TEXT = 1000

/** Only a positive answer opens the next phase. A failed check is repeated, and finally pauses the upgrade. */
export function decideCheck({ attempt, status, body, error }: CheckAnswer): CheckVerdict {
  const isAnswer = status !== null && status >= 200 && status <= 299
  const said = isAnswer ? parseAnswer(body) : null
  if (said?.open === true) return { kind: 'open', note: said.reason }
  if (said?.open === false) return { kind: 'hold', reason: `the check says: ${said.reason ?? 'no'}` }
  const what = status === null ? 'no answer' : isAnswer ? 'an answer without open' : `the status ${status}`
  const why = error === null ? '' : `: ${storable(error)}`
  const afterMs = pauses[attempt - 1]
  if (afterMs === undefined) return { kind: 'hold', reason: `the check gave ${what}, ${attempt} times${why}` }
  return { kind: 'retry', afterMs, failure: `gave ${what} at attempt ${attempt} of ${pauses.length + 1}${why}` }
}

function parseAnswer(body: string): { readonly open: unknown; readonly reason: string | null } | null {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    // A page of a proxy, for instance: it contains nothing about the upgrade.
    return null
  }
  if (typeof parsed !== 'object' || parsed === null || !('open' in parsed)) return null
  const reason = 'reason' in parsed && typeof parsed.reason === 'string' ? storable(parsed.reason) : null
  return { open: parsed.open, reason }
}

/** PostgreSQL stores neither NUL nor half a surrogate pair, which truncation may also leave. */
function storable(text: string): string {
  return text.replaceAll('\0', '').slice(0, MAX_TEXT).toWellFormed()
}
