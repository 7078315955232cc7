import type { Generated, GeneratedAlways } from 'kysely'

declare module '../../platform/database/schema.ts' {
  interface Schema {
    supportFile: SupportFileTable
  }
}

export interface SupportFileTable {
  orgId: string
  /** The id of its command. */
  id: string
  name: string
  /** A bigint: pg returns it as text. */
  bytes: string
  createdAt: Date
  /** True: the command is one to an edge appliance. */
  ofMxedge: Generated<boolean>
  deviceCommandId: GeneratedAlways<string | null>
  mxedgeCommandId: GeneratedAlways<string | null>
}
