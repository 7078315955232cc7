import type { Selectable } from 'kysely'
import type { InviteTable, WirePrivilege } from '../../platform/schema/accounts.ts'

/** What an invitation gives to whoever accepts it. */
export interface InviteDocument {
  readonly first_name?: string
  readonly last_name?: string
  /** How long it may be accepted, from when it was last sent. */
  readonly hours: number
  readonly privileges: readonly WirePrivilege[]
}

export type Invite = Omit<Selectable<InviteTable>, 'doc'> & { readonly doc: InviteDocument }
