/**
 * A difference from the contract's document that another part of the contract requires: the server follows that part.
 */
export interface Correction {
  /** The beginnings of findings, without the `results[].` of a search; see {@link fieldOf}. */
  readonly fields: readonly string[]
  readonly operations: readonly string[]
  /** The place in the contract, and its statement. */
  readonly source: string
}

export const corrections: readonly Correction[] = [
  {
    fields: ['reply: object instead of array'],
    operations: ['createApiToken'],
    source: 'The notes: clients read one object',
  },
  {
    fields: ['reply.site_id: not there'],
    operations: ['listOrgSsoRoles', 'createOrgSsoRole', 'getOrgSsoRole', 'updateOrgSsoRole'],
    source: 'The addendum: roles have no `site_id` any more',
  },
]

/** A finding's field without the list or the search that contains it: `reply[].sku: not there` is `reply.sku: not there`. */
export function fieldOf(field: string): string {
  return field.replace(/^reply(\[\]|\.results\[\])/, 'reply')
}

export function isCorrected({ fields, operations }: Correction, id: string, field: string): boolean {
  return operations.includes(id) && fields.some((start) => fieldOf(field).startsWith(start))
}
