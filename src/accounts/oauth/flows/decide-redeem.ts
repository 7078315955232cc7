import type { Binding } from './binding.ts'
import type { Code, Purpose } from './flow.ts'

/** The caller who redeems a code, and the purpose. */
export interface Redeemer {
  readonly provider: string
  readonly purpose: Purpose
  /** Null for a script without a cookie. */
  readonly bound: Binding | null
  /** True if the request has none of the headers that every browser sends. */
  readonly script: boolean
  readonly now: Date
}

/**
 * True if the code may be redeemed: only for its purpose, provider and holder. Without the flow's cookie, a login is
 * possible only if a script both began it and redeems the code: another person's browser can't be made to do either,
 * and a code that was stolen from a browser is of no use to a script.
 */
export function mayRedeem(code: Code & { readonly script: boolean }, redeemer: Redeemer): boolean {
  if (code.provider !== redeemer.provider || code.purpose !== redeemer.purpose) return false
  if (code.expiresAt <= redeemer.now) return false
  if (redeemer.bound !== null) return code.bound.equals(redeemer.bound)
  return redeemer.purpose === 'login' && redeemer.script && code.script
}
