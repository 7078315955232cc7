export interface UnlinkSituation {
  readonly hasPassword: boolean
  readonly hasSso: boolean
  /** The linked providers through which the person can sign in now, including the one to unlink. */
  readonly usable: readonly string[]
  readonly provider: string
}

/** True if another way to sign in remains. */
export function mayUnlink({ hasPassword, hasSso, usable, provider }: UnlinkSituation): boolean {
  return hasPassword || hasSso || usable.some((other) => other !== provider)
}
