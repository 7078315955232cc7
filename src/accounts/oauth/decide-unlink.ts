export interface UnlinkSituation {
  readonly hasPassword: boolean
  readonly hasSso: boolean
  /** Providers that are linked and can be used now, the one to unlink among them. */
  readonly usable: readonly string[]
  readonly provider: string
}

/** Whether another way to sign in remains. */
export function mayUnlink({ hasPassword, hasSso, usable, provider }: UnlinkSituation): boolean {
  return hasPassword || hasSso || usable.some((other) => other !== provider)
}
