import type { Json } from '../platform/json-column.ts'
import type { StoredPlan } from './previews/preview.ts'

declare module '../platform/schema.ts' {
  interface Schema {
    upgradePreview: UpgradePreviewTable
  }
}

export interface UpgradePreviewTable {
  orgId: string
  id: string
  origin: string
  body: Json<Record<string, unknown>>
  plan: Json<StoredPlan>
  expiresAt: Date
}
