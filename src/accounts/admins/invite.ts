import type { Selectable } from 'kysely'
import type { InviteTable } from '../../platform/schema/accounts.ts'

export type Invite = Selectable<InviteTable>
