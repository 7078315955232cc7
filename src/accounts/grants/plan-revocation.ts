import type { WirePrivilege } from '../../access/tables.ts'

/** What goes: a site or a site group. Ids in lower case. */
export type Place = { readonly siteId: string } | { readonly groupId: string }

/** Of each holder, what it is left with once a place is gone; only of those that had something there. */
export interface GrantChange<T> {
  readonly holder: T
  readonly before: readonly WirePrivilege[]
  readonly left: readonly WirePrivilege[]
}

/** Takes the privileges of `place` from the holders. Everything else they have stays, in its order. */
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
