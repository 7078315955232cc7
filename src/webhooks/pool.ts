export interface PoolCap {
  readonly total: number
  readonly perOrg: number
}

/** A limited resource that organizations share. */
export interface Pool {
  fits(orgId: string, amount: number): boolean
  /** How much the organization may still use. */
  leftOf(orgId: string): number
  /** A negative amount releases. An amount that does not fit is added all the same; then others wait longer. */
  add(orgId: string, amount: number): void
  /** 0 when it is used up. */
  left(): number
  /** Organizations that have used up their share. */
  fullOrgIds(): string[]
}

export function createPool({ total, perOrg }: PoolCap): Pool {
  const byOrg = new Map<string, number>()
  let used = 0
  return {
    fits: (orgId, amount) => used + amount <= total && (byOrg.get(orgId) ?? 0) + amount <= perOrg,
    leftOf: (orgId) => Math.max(Math.min(total - used, perOrg - (byOrg.get(orgId) ?? 0)), 0),
    add(orgId, amount) {
      const ofOrg = (byOrg.get(orgId) ?? 0) + amount
      if (ofOrg === 0) byOrg.delete(orgId)
      else byOrg.set(orgId, ofOrg)
      used += amount
    },
    left: () => Math.max(total - used, 0),
    fullOrgIds: () => [...byOrg].filter(([, ofOrg]) => ofOrg >= perOrg).map(([orgId]) => orgId),
  }
}
