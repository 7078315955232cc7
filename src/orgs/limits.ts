import { AppError } from '../platform/errors.ts'

declare module '../platform/limits.ts' {
  interface Limits {
    /** Organizations that an account has created and that still exist. */
    readonly orgsPerAccount: number
    readonly sitesPerOrg: number
  }
}

/** @throws AppError invalid if an account that has created `count` organizations may not create another one. */
export function assertRoomForOrg(count: number, max: number): void {
  if (count >= max) throw new AppError('invalid', `An account may create at most ${max} organizations`)
}

/** @throws AppError invalid if an organization with `count` sites has no room for another one. */
export function assertRoomForSite(count: number, max: number): void {
  if (count >= max) throw new AppError('invalid', `An organization may have at most ${max} sites`)
}
