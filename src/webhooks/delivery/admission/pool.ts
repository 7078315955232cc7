export interface PoolCap {
  readonly total: number
  /** The share of each organization. */
  readonly perOrg: number
  /** An organization may exceed its share while this much stays free for others. Default: it never may. */
  readonly keptFree?: number
}

/** A limited resource that organizations share. */
export interface Pool {
  fits(orgId: string, amount: number): boolean
  /** The amount that the organization may still use. */
  leftOf(orgId: string): number
  isUsedBy(orgId: string): boolean
  /** A negative amount releases. An amount that does not fit is added all the same; then others wait longer. */
  add(orgId: string, amount: number): void
  /** 0 when it is used up. */
  left(): number
  /** Organizations that may use no more. */
  fullOrgIds(): string[]
}

export function createPool({ total, perOrg, keptFree = total }: PoolCap): Pool {
  const byOrg = new Map<string, number>()
  let used = 0

  /** Negative when more was added than fits. */
  function roomOf(orgId: string): number {
    const ofShare = Math.min(total - used, perOrg - (byOrg.get(orgId) ?? 0))
    return Math.max(ofShare, total - keptFree - used)
  }

  return {
    fits: (orgId, amount) => amount <= roomOf(orgId),
    leftOf: (orgId) => Math.max(roomOf(orgId), 0),
    isUsedBy: (orgId) => byOrg.has(orgId),
    add(orgId, amount) {
      const ofOrg = (byOrg.get(orgId) ?? 0) + amount
      if (ofOrg === 0) byOrg.delete(orgId)
      else byOrg.set(orgId, ofOrg)
      used += amount
    },
    left: () => Math.max(total - used, 0),
    fullOrgIds: () => [...byOrg.keys()].filter((orgId) => roomOf(orgId) <= 0),
  }
}
