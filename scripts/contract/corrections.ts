/** A difference from the contract's document where the contract itself says otherwise: then the server follows that. */
export interface Correction {
  /** The beginnings of findings, without the `results[].` of a search; see {@link fieldOf}. */
  readonly fields: readonly string[]
  readonly operations: readonly string[]
  /** Where the contract says it, and what. */
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
