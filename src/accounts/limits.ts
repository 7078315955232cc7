import { AppError } from '../platform/errors.ts'

declare module '../platform/limits.ts' {
  interface Limits {
    readonly tokensPerAccount: number
    readonly tokensPerOrg: number
    /** Sessions beyond end, the one that was used longest ago first. */
    readonly sessionsPerAccount: number
  }
}

/** @throws AppError invalid if an owner (`An admin`) with `count` tokens has no room for another one. */
export function assertRoomForToken(owner: string, count: number, max: number): void {
  if (count >= max) throw new AppError('invalid', `${owner} may have at most ${max} API tokens`)
}
