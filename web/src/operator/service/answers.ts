/** What the operator's operations answer; src/app/operator/routes-operator.ts, routes-status.ts and routes-storage.ts present it. */
export interface ServiceStatus {
  readonly version: string
  readonly node_version: string
  readonly started_time: number
  readonly memory_bytes: number
  readonly database: {
    readonly version: string
    readonly bytes: number
    readonly connections: number
    readonly max_connections: number
    readonly migration: string
  }
}

interface Usage {
  readonly used_bytes: number
  readonly max_bytes: number
}

export interface StorageStatus {
  readonly disk: { readonly free_bytes: number; readonly reserve_bytes: number }
  readonly firmware: Usage
  readonly pictures: Usage
  readonly support: Usage
  readonly orgs: readonly {
    readonly id: string
    readonly name: string
    readonly firmware_bytes: number
    readonly picture_bytes: number
    readonly support_bytes: number
  }[]
}

export interface UnclaimedDevice {
  readonly mac: string
  readonly serial: string | null
  readonly model: string | null
  readonly type: string | null
  readonly claim_code: string | null
  readonly firmware: string | null
  readonly last_seen: number | null
}

export interface RefusedDevice {
  readonly protocol: string
  readonly reason: string
  readonly address?: string
  readonly mac?: string
  readonly detail?: string
  readonly count: number
  readonly first_time: number
  readonly last_time: number
}

export interface UnclaimedMxedge {
  readonly mac: string
  readonly serial: string | null
  readonly model: string | null
  readonly claim_code: string | null
}

export interface SetAsideEvent {
  readonly id: string
  readonly org_id: string
  readonly site_id: string | null
  readonly topic: string
  readonly bytes: number
  readonly created_time: number
  readonly set_aside_time: number | null
  readonly reason: string | null
}

export interface RevokedCertificate {
  readonly mac: string
  /** Absent: all certificates of the device that were issued until then. */
  readonly serial?: string
  readonly revoked_time: number
}
