import type { Selectable } from 'kysely'
import type { InviteTable } from '../tables.ts'

export type Invite = Selectable<InviteTable>
