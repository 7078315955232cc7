/** Actions on a service. */
export type ServiceAction = 'start' | 'stop' | 'restart'

/** What the agent of an edge appliance is asked to do, as the row stores it. */
export type MxedgeOrder =
  | { readonly kind: 'service'; readonly params: { readonly service: string; readonly action: ServiceAction } }
  | { readonly kind: 'bounce_port'; readonly params: { readonly ports: readonly string[]; readonly hold_ms: number } }
  | { readonly kind: 'disconnect_aps'; readonly params: { readonly macs: readonly string[] } }
  /** Apply the configuration that is current when the command is sent. */
  | { readonly kind: 'configure'; readonly params: Readonly<Record<string, never>> }

export type MxedgeCommandKind = MxedgeOrder['kind']
