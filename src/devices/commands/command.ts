/** Parts of a device; none = all of it. At most one of both. */
export interface RestartParams {
  /** Of a Virtual Chassis. */
  readonly member?: number
  /** Of a cluster. */
  readonly node?: 'node0' | 'node1'
}

/** In wire shape, as the row keeps it. */
export interface UpgradeParams {
  readonly image_id: string
  readonly version: string
}

export type CommandOrder =
  | { readonly kind: 'restart'; readonly params: RestartParams }
  /** `upgrade` downloads, installs and reboots in one step; `stage` downloads, and `activate` does the rest. */
  | { readonly kind: 'upgrade' | 'stage'; readonly params: UpgradeParams }
  | { readonly kind: 'activate'; readonly params: Readonly<Record<string, never>> }
  /** Blink, so that somebody finds it; and be as before. */
  | { readonly kind: 'locate' | 'unlocate'; readonly params: Readonly<Record<string, never>> }

export type NewCommand = CommandOrder & {
  readonly id: string
  readonly deviceId: string
  /** The site upgrade it belongs to; null for a person's command. */
  readonly jobId: string | null
  readonly attempt: number
  readonly createdAt: Date
  /** Not sent by then = never sent. Null: until its upgrade takes it back. */
  readonly expiresAt: Date | null
}

/**
 * Why nobody heard the reply: the device took too long, its connection broke, or the gateway process
 * that held the connection stopped or died, which is no fault of the device.
 */
export type LossReason = 'timeout' | 'connection_lost' | 'gateway_lost'

/** How a command ended. */
export type CommandOutcome =
  | { readonly kind: 'done'; readonly text: string | null }
  /** The device certainly did not do it. */
  | { readonly kind: 'rejected'; readonly code: string; readonly text: string; readonly final: boolean }
  /** The device may have done it. */
  | { readonly kind: 'unknown'; readonly why: LossReason }
