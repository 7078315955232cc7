/** Actions on a service. */
export type ServiceAction = 'start' | 'stop' | 'restart'

/** A command to the agent of an edge appliance, as the row stores it. */
export type MxedgeOrder =
  | { readonly kind: 'service'; readonly params: { readonly service: string; readonly action: ServiceAction } }
  | { readonly kind: 'bounce_port'; readonly params: { readonly ports: readonly string[]; readonly hold_ms: number } }
  | { readonly kind: 'disconnect_aps'; readonly params: { readonly macs: readonly string[] } }
  /** Applies the configuration that is current when the command is sent. */
  | { readonly kind: 'configure'; readonly params: Readonly<Record<string, never>> }
  /** Downloads the image, a package of the service, and stores it. */
  | { readonly kind: 'stage_package'; readonly params: ServiceUpgrade }
  /** Installs the image. */
  | { readonly kind: 'upgrade_service'; readonly params: ServiceUpgrade }
  /** Downloads the files for the upgrade, without changing anything. */
  | { readonly kind: 'stage_distro'; readonly params: DistroUpgrade }
  | { readonly kind: 'upgrade_distro'; readonly params: DistroUpgrade }
  /** Collects support files and uploads them. */
  | { readonly kind: 'support'; readonly params: Readonly<Record<string, never>> }

export interface ServiceUpgrade {
  readonly service: string
  /** The version that the service reports once the package is installed. */
  readonly version: string
  /** The firmware image that is the package. */
  readonly image_id: string
  /** The version that the service reported when the command was queued; null: it was not installed. */
  readonly from_version: string | null
}

export interface DistroUpgrade {
  /** The codename of a release; `next` is the one that follows `from`. */
  readonly codename: string
  /** The release that the appliance reported when the command was queued; null: it reported none. */
  readonly from: string | null
}

export type MxedgeCommandKind = MxedgeOrder['kind']
