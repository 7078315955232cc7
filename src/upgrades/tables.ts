import type { Json } from '../platform/database/json-column.ts'
import type { StoredMxedgePlan } from './mxedges/plan-preview.ts'
import type { StoredPlan } from './previews/preview.ts'

declare module '../platform/database/schema.ts' {
  interface Schema {
    upgradePreview: UpgradePreviewTable
  }
}

export interface UpgradePreviewTable {
  orgId: string
  id: string
  origin: string
  body: Json<Record<string, unknown>>
  /** The operation, which is part of the origin, decides which of them it is. */
  plan: Json<StoredPlan | StoredMxedgePlan>
  expiresAt: Date
}
