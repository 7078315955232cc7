import type { Principal } from '../../src/access/principal.ts'

/** Returns a person who is signed in and belongs to no organization. */
export function personOf(adminId: string): Principal {
  return {
    via: 'session',
    adminId,
    tokenId: null,
    sessionHash: null,
    tokenName: '',
    email: 'someone@example.com',
    firstName: '',
    lastName: '',
    passwordModifiedAt: null,
    noTracking: null,
    profile: {},
    ssoId: null,
    hasSecondFactor: false,
    secondFactor: 'none',
    privileges: [],
    closedOrgs: new Map(),
    site: null,
  }
}
