import type { Binding } from './binding.ts'
import type { Code, Purpose } from './flow.ts'

/** Who brings a code, and what for. */
export interface Redeemer {
  readonly provider: string
  readonly purpose: Purpose
  /** Null: a script that has no cookie. */
  readonly bound: Binding | null
  /** The request has none of the headers that every browser sends. */
  readonly script: boolean
  readonly now: Date
}

/**
 * A code is good for the purpose, provider and holder it was made for. Without the flow's cookie a
 * login is possible only where a script both began it and redeems it: somebody else's browser can't be
 * made to do either, and a code stolen from a browser is of no use to a script.
 */
export function mayRedeem(code: Code & { readonly script: boolean }, redeemer: Redeemer): boolean {
  if (code.provider !== redeemer.provider || code.purpose !== redeemer.purpose) return false
  if (code.expiresAt <= redeemer.now) return false
  if (redeemer.bound !== null) return code.bound.equals(redeemer.bound)
  return redeemer.purpose === 'login' && redeemer.script && code.script
}
