import type { WirePrivilege } from '../../access/tables.ts'

/** The place that is deleted: a site or a site group. Ids are in lower case. */
export type Place = { readonly siteId: string } | { readonly groupId: string }

/** The privileges that remain for a holder once those in the place are revoked. */
export interface GrantChange<T> {
  readonly holder: T
  readonly before: readonly WirePrivilege[]
  readonly left: readonly WirePrivilege[]
}

/**
 * Plans the revocation of all privileges in `place`. The other privileges of a holder stay, in their order.
 *
 * @returns Only the holders that had a privilege in the place.
 */
export function planRevocation<T extends { readonly privileges: readonly WirePrivilege[] }>(
  holders: readonly T[],
  place: Place,
): GrantChange<T>[] {
  return holders.flatMap((holder) => {
    const left = holder.privileges.filter((privilege) => !isOf(privilege, place))
    return left.length < holder.privileges.length ? [{ holder, before: holder.privileges, left }] : []
  })
}

/** Clients may write ids in upper case. */
function isOf({ site_id: siteId, sitegroup_id: groupId }: WirePrivilege, place: Place): boolean {
  return 'siteId' in place ? siteId?.toLowerCase() === place.siteId : groupId?.toLowerCase() === place.groupId
}
